"""The bundled subjects and their virtual environments.

Pins of published packages conflict with each other and with fedspec's own, so each subject has an
environment of its own, made on first use under ``$FEDSPEC_CACHE`` (else ``$XDG_CACHE_HOME/fedspec``,
else ``~/.cache/fedspec``)::

    environments/NAME-HASH/       the environment; .complete is written last, without it it is remade
    environments/NAME-HASH.log    what venv, and uv or pip, printed
    environments/NAME-HASH.lock   held while one process makes it

HASH stands for the requirements and the Python that made it. How one is made: ``environment_builder.py``.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import fedspec
from fedspec.errors import ContractError, UnknownNameError, to_install
from fedspec_suite.subjects import environment_builder

HERE = Path(__file__).resolve().parent
STAMP = ".complete"


@dataclass(frozen=True)
class Bundled:
    """Name of a bundled adapter that ``fedspec check`` accepts, with its files.

    Attributes:
        name: ``optax``, ``flwr`` (all its variants) or ``flwr:classic`` (one of them).
        folder: folder of its adapter.
        requirements: the pins of its environment.
        description: one line for a list.
        variants: the adapter's attribute for each variant that the name serves; the only one is ``""``.
        packages: packages of this project that the adapter imports beside ``fedspec``, in the order of installation.
    """

    name: str
    folder: Path
    requirements: Path
    description: str
    variants: Mapping[str, str]
    packages: tuple[str, ...] = ()

    @property
    def package(self) -> str:
        """Name without the variant; also the name of the folder."""
        return self.folder.name

    @property
    def published(self) -> bool:
        """True if the package is third-party; it may use modules of ``fedspec_suite`` as drivers."""
        return set(self.packages) <= {"fedspec_suite"}

    @property
    def environment(self) -> Environment:
        """Virtual environment in which the subject runs."""
        return Environment(self.package, self.requirements)


def bundled() -> dict[str, Bundled]:
    """Return all bundled names, a package before its variants."""
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
                packages=tuple(body.get("packages", ())),
            )
    return out


def find(name: str) -> Bundled:
    """Return the bundled adapter of a name.

    Raises:
        UnknownNameError: there is no such bundled subject.
    """
    known = bundled()
    if name not in known:
        raise UnknownNameError(f"adapter: no bundled adapter {name!r}; there are {', '.join(known)}")
    return known[name]


def expand(name: str) -> tuple[str, ...]:
    """Split a name into names of single subjects: ``flwr`` into ``flwr:classic``, ``flwr:new``."""
    subject = find(name)
    if len(subject.variants) == 1:
        return (name,)
    return tuple(f"{subject.package}:{variant}" for variant in subject.variants)


def python_reference(name: str) -> str:
    """Return what :mod:`fedspec.serve` loads for ``FILE.py``, ``FILE.py:NAME`` or ``py:MODULE:NAME``; else empty."""
    is_file = name.endswith(".py") or ".py:" in name
    return name.removeprefix("py:") if name.startswith("py:") or (is_file and not name.startswith("cmd:")) else ""


def cache_folder() -> Path:
    """Return fedspec's cache folder, which holds the environments."""
    if chosen := os.environ.get("FEDSPEC_CACHE"):
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "fedspec"


@dataclass(frozen=True)
class Environment:
    """Virtual environment with pinned packages.

    Attributes:
        package: name of the package.
        requirements: its pins.
    """

    package: str
    requirements: Path

    @property
    def folder(self) -> Path:
        """Folder of the environment, whether it exists or not; its name hashes the pins and the Python."""
        made_of = f"{self.requirements.read_text(encoding='utf-8')}\n{sys.implementation.name}\n"
        made_of += f"{platform.python_version()}\n{platform.machine()}"
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:12]
        return cache_folder() / "environments" / f"{self.package}-{digest}"

    @property
    def is_ready(self) -> bool:
        """True if the environment is complete."""
        return (self.folder / STAMP).is_file() and _python(self.folder).exists()

    def made(self, progress: Callable[[str], None], stop: threading.Event | None = None) -> Path:
        """Build the environment unless it is complete, and return its Python.

        Args:
            progress: told, in one line each, what takes time.
            stop: gives up where it is set, as on an interrupt; for other threads than the main one.

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
        with environment_builder.locked(folder.with_name(folder.name + ".lock"), self.package, progress, stop) as lock:
            if not self.is_ready:  # another process may have made it while this one waited
                _build(self, folder, environment_builder.Job(self.package, folder, lock, progress, stop))
        return _python(folder)


def is_ready(name: str) -> bool:
    """True if the subject's environment is complete, so that :func:`prepare` has nothing to do."""
    return find(name).environment.is_ready


def prepare(name: str, progress: Callable[[str], None]) -> Path:
    """Build the subject's environment unless it is complete, and return its Python.

    Args:
        name: a bundled name; its variants share one environment.
        progress: told, in one line each, what takes time.

    Raises:
        UnknownNameError: there is no such bundled subject.
        ContractError: it could not be made; the message ends with the last lines of the log.
    """
    return find(name).environment.made(progress)


def command(name: str, progress: Callable[[str], None] = lambda _: None) -> list[str]:
    """Return the command that serves one subject as JSON lines, after building its environment if necessary.

    Raises:
        UnknownNameError: there is no such bundled subject, or the name stands for several.
        ContractError: its environment could not be made.
    """
    subject = find(name)
    if len(subject.variants) != 1:
        raise UnknownNameError(f"adapter: {name} has several variants; choose one of {', '.join(expand(name))}")
    (attribute,) = subject.variants.values()
    packages = [str(_directory(package)) for package in subject.packages]
    python = prepare(name, progress)
    where = Path(fedspec.__file__).resolve().parent
    return [
        str(python),
        "-I",
        str(HERE / "bootstrap.py"),
        str(where),
        f"{subject.folder / 'adapter.py'}:{attribute}",
        *packages,
    ]


def _directory(package: str) -> Path:
    """The folder of a package of this project; the package is not imported.

    Raises:
        ContractError: it is of a distribution that is not installed.
    """
    found = find_spec(package)
    if found is None or found.submodule_search_locations is None:
        raise ContractError(f"adapter: it needs {package}, which is not installed; {to_install('', 'fedspec-torch')}")
    return Path(next(iter(found.submodule_search_locations))).resolve()


def _python(folder: Path) -> Path:
    return folder / "bin/python"


def _build(subject: Environment, folder: Path, job: environment_builder.Job) -> None:
    (folder / STAMP).unlink(missing_ok=True)
    environment_builder.build(job, _python(folder), subject.requirements)
    (folder / STAMP).write_text(subject.requirements.read_text(encoding="utf-8"), encoding="utf-8")
    job.ready()


ABREAST = max(2, min(4, os.cpu_count() or 1))
"""Number of environments that are built at the same time."""


def missing(names: Iterable[str]) -> dict[str, Environment]:
    """Return the environments, by name, that must be built before the bundled subjects among some names can start."""
    known = bundled()
    return {n: known[n].environment for n in names if n in known and not known[n].environment.is_ready}


@contextmanager
def made(
    wanted: Iterable[Environment], progress: Callable[[str], None]
) -> Iterator[Mapping[Environment, Future[Path]]]:
    """Start building environments in the background; the block gets their futures, and its end cancels them.

    Args:
        wanted: the environments to build.
        progress: told, in one line each, what takes time; also by other threads.
    """
    stop = threading.Event()
    # The first call fills a table by which uv finds itself, and another thread would read half of it.
    sysconfig.get_config_vars()
    with ThreadPoolExecutor(ABREAST, thread_name_prefix="environment") as pool:
        try:
            yield {e: pool.submit(e.made, progress, stop) for e in dict.fromkeys(wanted)}
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)


def in_order(names: Iterable[str], progress: Callable[[str], None]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield each name with a function that waits for its environment or raises its error; all builds start at once."""
    names = list(names)
    wanted = missing(names)
    with made(wanted.values(), progress) as making:
        yield from ((name, making[wanted[name]].result if name in wanted else lambda: None) for name in names)
