"""Installers of packages with pip's configuration: uv if it is available, else pip.

uv reads none of pip's settings, so it is told them: what ``pip config list`` prints goes into variables of uv's own.
Where pip has a setting that uv cannot be told, pip installs. What a person tells uv by variables comes first.

Torch has a build for each kind of machine under one version. Where neither tool is told where packages come from,
uv chooses the build that fits this machine (``--torch-backend auto``); pip would take the package index's, for CUDA.

It needs the standard library alone: ``make venv`` runs it by its file, before anything else is installed::

    python installing.py requirements.txt
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

AS_VARIABLES = {
    "index-url": ("UV_DEFAULT_INDEX", " "),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "cert": ("SSL_CERT_FILE", ""),
    "client-cert": ("SSL_CLIENT_CERT", ""),
    "proxy": ("ALL_PROXY", ""),
    "retries": ("UV_HTTP_RETRIES", ""),
    "timeout": ("UV_HTTP_TIMEOUT", ""),
    "default-timeout": ("UV_HTTP_TIMEOUT", ""),
}
"""Settings of pip, with uv's environment variable for each and the separator between several values."""

OF_NO_WEIGHT = {
    *("break-system-packages", "cache-dir", "color", "compile", "config-file", "disable-pip-version-check"),
    *(
        "exists-action",
        "log",
        "no-cache-dir",
        "no-color",
        "no-compile",
        "no-input",
        "no-python-version-warning",
        "no-warn-script-location",
    ),
    *("prefer-binary", "progress-bar", "quiet", "require-virtualenv", "root-user-action", "verbose"),
}
"""Settings of pip that don't change which pinned packages an environment gets."""

PLACES = (
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_FIND_LINKS",
)
"""Environment variables that set uv's package sources."""

PIP = ("-I", "-m", "pip", "--no-input", "--disable-pip-version-check")


@dataclass(frozen=True)
class Way:
    """Installer with its commands.

    Attributes:
        tool: ``uv`` or ``pip``.
        install: the command, up to what is to be installed.
        plan: the command that writes what it would take into a file, up to that file and what is to be installed;
            none where the tool has none that is cheap.
        variables: environment variables of both commands, beside this process's.
    """

    tool: str
    install: tuple[str, ...]
    plan: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the installer in progress lines."""
        return f"{self.tool} --torch-backend auto" if "--torch-backend" in self.install else self.tool


def found_uv() -> str | None:
    """Return the path of uv: from the installed package ``uv``, else from the PATH; None if there is none."""
    try:
        return str(import_module("uv").find_uv_bin())
    except (ImportError, AttributeError, OSError):
        return shutil.which("uv")


def listed(python: Path | str) -> str | None:
    """Return the output of ``pip config list``; None if this Python has no pip."""
    asked = [str(python), *PIP, "config", "list"]
    ran = subprocess.run(asked, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    return None if ran.returncode else ran.stdout


def settings(listed: str) -> dict[str, str]:
    """Parse pip's settings from the output of ``pip config list``; environment variables override files."""
    told: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in listed.splitlines():
        key, _, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if section in told:
            told[section][name] = str(ast.literal_eval(value))
    return {name: value for some in told.values() for name, value in some.items() if value.strip()}


def as_variables(told: Mapping[str, str]) -> dict[str, str] | None:
    """Convert pip's settings to uv's variables; None if uv lacks one of them."""
    out = {}
    for name, value in told.items():
        if name in OF_NO_WEIGHT:
            continue
        if name not in AS_VARIABLES:
            return None
        variable, between = AS_VARIABLES[name]
        out[variable] = between.join(value.split()) if between else value
    return out


def ways(python: Path | str, listed: str, torch: bool) -> Iterator[Way]:
    """Yield the installers for the environment of this Python, the best first, pip last.

    Args:
        python: the interpreter of the environment.
        listed: output of ``pip config list``.
        torch: True if torch is among the packages to install.
    """
    uv, told = found_uv(), as_variables(settings(listed))
    if uv is not None and told is not None:
        # As pip does: any index may have the version that is asked for.
        variables = {"UV_INDEX_STRATEGY": "unsafe-best-match", "UV_NO_PROGRESS": "1", **told}
        variables = {name: value for name, value in variables.items() if name not in os.environ}
        if "SSL_CERT_FILE" in told:
            variables["SSL_CERT_FILE"] = told["SSL_CERT_FILE"]
        # Neither the settings of a project in this folder, nor an interpreter that uv would fetch.
        options = ("--no-config", "--no-python-downloads", "--python", str(python))
        here = {**os.environ, **variables}
        chosen = torch and "UV_TORCH_BACKEND" not in here and not any(here.get(place) for place in PLACES)
        for more in ((("--torch-backend", "auto"),) if chosen else ()) + ((),):
            yield Way(
                tool="uv",
                install=(uv, "pip", "install", *options, *more),
                plan=(uv, "pip", "compile", "-q", "--format", "pylock.toml", *options, *more, "-o"),
                variables=variables,
            )
    yield Way(tool="pip", install=(str(python), *PIP, "install"))


def asks_for_torch(requirements: str) -> bool:
    """True if torch is pinned among the requirements."""
    return re.search(r"^torch\s*(==|$)", requirements, re.M) is not None


def planned(lock: str) -> str:
    """Describe the download that uv's lock file requires: packages, size and the version of torch."""
    packages = tomllib.loads(lock).get("packages", [])
    files: list[dict[str, Any]] = [
        next(iter((*p.get("wheels", ()), *filter(None, (p.get("sdist"),)))), {}) for p in packages
    ]
    far = [f for f in files if urlsplit(f.get("url", "")).scheme not in ("", "file")]
    size = sum(f.get("size", 0) for f in far)
    unknown = sum("size" not in f for f in far)
    words = f"{len(packages)} packages, of which {size / 1e6:.0f} MB are fetched unless uv's cache has them"
    if unknown:
        words += f", beside {unknown} files of unknown size"
    versions = {p["name"]: p.get("version", "") for p in packages}
    if "torch" in versions:
        cuda = sum(name.startswith(("nvidia-", "cuda-")) for name in versions)
        words += f"; torch {versions['torch']}" + (f" with {cuda} packages of CUDA" if cuda else "")
    return words


PLAIN_TORCH = (
    "without uv the build of torch is the one that pip finds; that of PyPI for Linux is for CUDA, 2.8 GB to fetch "
    "with its libraries (docs/install.md says how to get the one for CPUs)"
)
"""Note printed before pip installs torch without a setting for its index."""


def untold(listed: str) -> bool:
    """True if pip has no setting of its package sources."""
    return not settings(listed).keys() & {"index-url", "extra-index-url", "find-links", "no-index"}


def by_uv(
    way: Way, requirements: Path, plan: Path, run: Callable[[tuple[str, ...]], int], say: Callable[[str], None]
) -> bool:
    """Install with uv after reporting what it will download; return True if it succeeded.

    Args:
        way: the installer.
        requirements: file of the requirements.
        plan: the file for what it would take; uv wants it to be called ``pylock.toml``.
        run: runs a command and gives its status.
        say: told what is fetched.
    """
    if run((*way.plan, str(plan), str(requirements))):
        return False
    with suppress(OSError, ValueError):
        say(planned(plan.read_text(encoding="utf-8")))
    return run((*way.install, "-r", str(requirements))) == 0


def main() -> int:
    """Install a requirements file that includes torch into the environment of this Python."""
    requirements = Path(sys.argv[1])
    told = listed(sys.executable) or ""

    def run(command: tuple[str, ...]) -> int:
        return subprocess.run(command, check=False, env={**os.environ, **way.variables}).returncode

    for way in ways(sys.executable, told, torch=True):
        if way.tool == "uv":
            with tempfile.TemporaryDirectory() as folder:
                if by_uv(
                    replace(way, install=(*way.install, "-q")), requirements, Path(folder, "pylock.toml"), run, print
                ):
                    return 0
            print(f"{way.name} cannot install it, and something else is tried")
            continue
        if untold(told):
            print(PLAIN_TORCH)
        return run((*way.install, "-qq", "-r", str(requirements)))
    return 1


if __name__ == "__main__":
    sys.exit(main())
