"""The bundled subjects and the virtual environments that they run in.

Pins of published packages conflict with each other and with fedspec's own, so each subject has an
environment of its own, made on first use under ``$FEDSPEC_CACHE`` (else ``$XDG_CACHE_HOME/fedspec``,
else ``~/.cache/fedspec``)::

    environments/NAME-HASH/       the environment; .complete is written last, without it it is remade
    environments/NAME-HASH.log    what venv and pip printed
    environments/NAME-HASH.lock   held while one process makes it

HASH stands for the requirements and the Python that made it.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import fedspec
from fedspec.errors import ContractError, UnknownNameError
from fedspec_suite.measure.interrupts import deferred

HERE = Path(__file__).resolve().parent
STAMP = ".complete"
_LOG_LINES = 15


@dataclass(frozen=True)
class Bundled:
    """One name that ``--impl`` takes.

    Attributes:
        name: ``optax``, ``flwr`` (all its variants) or ``flwr:classic`` (one of them).
        folder: where its adapter lies.
        requirements: the pins of its environment.
        description: one line for a list.
        variants: the adapter's attribute for each variant that the name serves; the only one is ``""``.
    """

    name: str
    folder: Path
    requirements: Path
    description: str
    variants: Mapping[str, str]

    @property
    def package(self) -> str:
        """The name without a variant, which is also the folder's."""
        return self.folder.name

    @property
    def environment(self) -> Environment:
        """What it runs in."""
        return Environment(self.package, self.requirements)


def bundled() -> dict[str, Bundled]:
    """List every name, a package before its variants."""
    out: dict[str, Bundled] = {}
    for card in sorted(HERE.glob("*/subject.json")):
        body = json.loads(card.read_text(encoding="utf-8"))
        folder, variants = card.parent, dict(body["variants"])
        names = {folder.name: variants}
        if len(variants) > 1:
            names |= {f"{folder.name}:{v}": {v: attribute} for v, attribute in variants.items()}
        for name, served in names.items():
            out[name] = Bundled(
                name=name,
                folder=folder,
                requirements=folder / "requirements.txt",
                description=body["description"],
                variants=served,
            )
    return out


def find(name: str) -> Bundled:
    """Look a name up.

    Raises:
        UnknownNameError: there is no such bundled subject.
    """
    known = bundled()
    if name not in known:
        raise UnknownNameError(f"subject: no bundled subject {name!r}; there are {', '.join(known)}")
    return known[name]


def expand(name: str) -> tuple[str, ...]:
    """Split a name into names of one subject each: ``flwr`` into ``flwr:classic``, ``flwr:new``."""
    subject = find(name)
    if len(subject.variants) == 1:
        return (name,)
    return tuple(f"{subject.package}:{variant}" for variant in subject.variants)


def cache_folder() -> Path:
    """Where environments are kept."""
    if chosen := os.environ.get("FEDSPEC_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "fedspec"


@dataclass(frozen=True)
class Environment:
    """A virtual environment that holds pinned packages.

    Attributes:
        package: what it is for.
        requirements: its pins.
    """

    package: str
    requirements: Path

    @property
    def folder(self) -> Path:
        """Where it lies, whether it exists or not."""
        made_of = f"{self.requirements.read_text(encoding='utf-8')}\n{sys.implementation.name}\n"
        made_of += f"{platform.python_version()}\n{platform.machine()}"
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:12]
        return cache_folder() / "environments" / f"{self.package}-{digest}"

    @property
    def is_ready(self) -> bool:
        """Whether it is there."""
        return (self.folder / STAMP).is_file() and _python(self.folder).exists()

    def made(self, progress: Callable[[str], None]) -> Path:
        """Make it unless it is there, and return its Python.

        Args:
            progress: told, in one line each, what takes time.

        Raises:
            ContractError: it could not be made; the message ends with the last lines of the log.
        """
        folder = self.folder
        if self.is_ready:
            return _python(folder)
        try:
            folder.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ContractError(
                f"{self.package}: cannot create {folder.parent}: {error}; "
                f"set FEDSPEC_CACHE to a folder that can be written"
            ) from error
        with _locked(folder.with_name(folder.name + ".lock"), self.package, progress) as lock:
            if not self.is_ready:  # another process may have made it while this one waited
                _build(self, folder, lock, progress)
        return _python(folder)


def environment(name: str) -> Path:
    """The folder of the subject's environment, whether it exists or not."""
    return find(name).environment.folder


def is_ready(name: str) -> bool:
    """Whether the environment is there, so that :func:`prepare` has nothing to do."""
    return find(name).environment.is_ready


def prepare(name: str, progress: Callable[[str], None]) -> Path:
    """Make the subject's environment unless it is there, and return its Python.

    Args:
        name: a bundled name; its variants share one environment.
        progress: told, in one line each, what takes time.

    Raises:
        UnknownNameError: there is no such bundled subject.
        ContractError: it could not be made; the message ends with the last lines of the log.
    """
    return find(name).environment.made(progress)


def command(name: str, progress: Callable[[str], None] = lambda _: None) -> list[str]:
    """The command that serves one subject as JSON lines, its environment made first if need be.

    Raises:
        UnknownNameError: there is no such bundled subject, or the name stands for several.
        ContractError: its environment could not be made.
    """
    subject = find(name)
    if len(subject.variants) != 1:
        raise UnknownNameError(f"subject: {name} has several variants; choose one of {', '.join(expand(name))}")
    (attribute,) = subject.variants.values()
    python = prepare(name, progress)
    where = Path(fedspec.__file__).resolve().parent
    return [
        str(python),
        "-I",
        str(HERE / "bootstrap.py"),
        str(where),
        f"{subject.folder / 'adapter.py'}:{attribute}",
    ]


def _python(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _build(subject: Environment, folder: Path, lock: int, progress: Callable[[str], None]) -> None:
    begun = time.monotonic()
    log_path = folder.with_name(folder.name + ".log")
    (folder / STAMP).unlink(missing_ok=True)
    progress(f"{subject.package}: installing its pinned packages in {folder} (once)")
    with log_path.open("w", encoding="utf-8") as log:
        _run(subject, [sys.executable, "-I", "-m", "venv", "--clear", str(folder)], lock, log, log_path)
        pip = [str(_python(folder)), "-I", "-m", "pip", "--no-input", "--disable-pip-version-check"]
        _run(subject, [*pip, "install", "-r", str(subject.requirements)], lock, log, log_path)
    (folder / STAMP).write_text(subject.requirements.read_text(encoding="utf-8"), encoding="utf-8")
    progress(f"{subject.package}: environment ready after {time.monotonic() - begun:.0f} s")


def _run(subject: Environment, argv: list[str], lock: int, log: TextIO, log_path: Path) -> None:
    try:
        status = _ended(argv, lock, log)
        reason = f"exited with {status}"
    except OSError as error:
        status, reason = -1, str(error)
    if status:
        lines = log_path.read_text(encoding="utf-8", errors="replace").splitlines()
        said = "\n".join(f"  {line}" for line in lines[-_LOG_LINES:])
        raise ContractError(
            f"{subject.package}: cannot make its environment: python -m {argv[3]} {reason}; it needs a package "
            f"index (pip's own settings are honoured); see {log_path}, which ends\n{said}"
        )


def _ended(argv: list[str], lock: int, log: TextIO) -> int:
    """Run to the end, or to an interrupt, which ends it with everything that it started.

    It holds the lock too: if this process is killed, nobody begins anew while it still writes.
    """
    posix = os.name != "nt"
    child: subprocess.Popen[bytes] | None = None
    try:
        with deferred():
            child = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=posix,
                pass_fds=(lock,) if posix else (),
            )
        return child.wait()
    except BaseException:
        if child is not None:
            with suppress(ProcessLookupError, PermissionError):
                if sys.platform == "win32":
                    child.kill()
                else:
                    os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        raise


@contextmanager
def _locked(path: Path, package: str, progress: Callable[[str], None]) -> Iterator[int]:
    """Hold the lock file; the system lets go of it when the last process that has it open ends, however it ends."""
    with path.open("a+b") as file:
        if not _try_lock(file.fileno()):
            progress(f"{package}: waiting for another process that makes its environment")
            while not _try_lock(file.fileno()):
                time.sleep(0.2)
        yield file.fileno()


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
