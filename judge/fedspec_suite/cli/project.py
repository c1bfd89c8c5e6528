"""The user's pyproject.toml: which file applies, whether it is trusted, and its table ``[tool.fedspec]``.

Such a file names code that runs and files that are written, and it may have come with a clone or lie in a folder that
everybody can write to. So only the user's own file counts, and only one of the same project.
"""

from __future__ import annotations

import os
import pwd
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError
from fedspec.parsing import parse_toml

VARIABLE = "FEDSPEC_PROJECT"
"""Environment variable with the folder of a pyproject.toml that fedspec trusts, whoever owns the file."""

NONE = "-"
"""Value of :data:`VARIABLE` that makes fedspec read no pyproject.toml."""

FILE = "pyproject.toml"

LARGEST = 1 << 20
"""Largest file size that is read, in bytes."""

PATHS = ("report", "capsules", "expect")
"""Options of ``fedspec check`` that name files; relative paths start at the folder of pyproject.toml."""
WRITTEN = ("report", "capsules")
"""Options that name files to write."""
CHECK: dict[str, type] = {
    "profile": str,
    "seed": int,
    "jobs": int,
    "rounds": int,
    "clients": int,
    "dim": int,
    "limit": float,
    "start-limit": float,
    "budget": float,
    "strict": bool,
    "only": list,
    "law": list,
    "report": list,
    "capsules": str,
    "expect": str,
}
"""Options of ``fedspec check`` allowed under ``[tool.fedspec.check]``, with the types of their values."""


@dataclass(frozen=True)
class Project:
    """A trusted pyproject.toml.

    Attributes:
        path: the file.
        table: its ``[tool.fedspec]``.
    """

    path: Path
    table: Mapping[str, Any] = field(default_factory=dict)

    @property
    def plugins(self) -> list[str]:
        """Plugins that the file names, unresolved.

        Raises:
            FedspecError: the value is not a list of names.
        """
        named = self.table.get("plugins", [])
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise FedspecError(
                f'{self.path}: [tool.fedspec] plugins = {_short(named)}; write plugins = ["my_algorithm.py"]'
            )
        return named


def project(folder: Path) -> Project | None:
    """Return the pyproject.toml that applies to a command run in a folder; None if none does.

    That is the nearest one upwards, up to the root of the repository or the home folder, if it and the files that it
    names are the user's or root's. ``--project DIR`` and the environment name one that is trusted whoever owns it.

    Raises:
        FedspecError: it cannot be read, or it isn't TOML, or ``[tool.fedspec]`` has an unknown key.
    """
    named = os.environ.get(VARIABLE, "")
    if named == NONE:
        return None
    if named:
        given = Path(os.path.abspath(named)) / FILE
        if not _is_file(given):
            raise FedspecError(f"project: there is no {given}; give the folder of a {FILE}, or --no-project")
        return Project(given, _table(given))
    path = nearest(folder)
    if path is None:
        return None
    stranger = _stranger(path)
    found: Project | None
    try:
        found = Project(path, _table(path))
        files = [path.parent / name for name in found.plugins if name.endswith(".py")]
        stranger = stranger or next(filter(None, map(_stranger, files)), "")
    except FedspecError:
        if not stranger:
            raise
        found = None
    if not stranger:
        return found
    # A stranger's file that tells fedspec nothing is not worth a word.
    if found is None or found.table:
        _tell(f"fedspec: skipped {path}: {stranger}; to trust it, pass --project {path.parent}\n")
    return None


@cache
def _tell(line: str) -> None:
    """Write a line to standard error, once: a file may be asked for several times."""
    sys.stderr.write(line)


def nearest(folder: Path) -> Path | None:
    """Return the nearest pyproject.toml in a folder or its parents, up to the repository's root or the home folder."""
    home = Path(os.path.expanduser("~")).resolve()
    for one in (folder, *folder.parents):
        if _is_file(one / FILE):
            return one / FILE
        # A worktree and a submodule have a file of that name.
        if one == home or os.path.lexists(one / ".git"):
            return None
    return None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        # The folder may not be looked into.
        return False


def _stranger(path: Path) -> str:
    """Name another user who could have written a file or the link to it; empty if only the user and root could."""
    try:
        looked_at = [path.lstat(), path.stat()]
    except OSError:
        # What isn't there is told by whoever opens it.
        return ""
    for one in looked_at:
        if one.st_uid not in (os.geteuid(), 0):
            return f"{path.name} belongs to {_called(one.st_uid)}, not to you"
    return f"everybody may write {path.name}" if looked_at[1].st_mode & 0o002 else ""


def _called(user: int) -> str:
    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _table(path: Path) -> dict[str, Any]:
    """Read the table ``[tool.fedspec]`` of a pyproject.toml; an empty table if it has none.

    Raises:
        FedspecError: it cannot be read, isn't TOML, or has something else there.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ValueError(f"it is larger than {LARGEST >> 20} MB")
        found: Any = parse_toml(data.decode())
    except (OSError, ValueError) as error:
        raise FedspecError(f"{path}: cannot be read ({' '.join(str(error).split())[:200]})") from error
    where = ""
    for name in ("tool", "fedspec"):
        found, where = found.get(name, {}), f"{where}.{name}".lstrip(".")
        if not isinstance(found, dict):
            raise FedspecError(f"{path}: {where} = {_short(found)}; it must be a table, [{where}]")
    if unknown := found.keys() - {"plugins", "check"}:
        raise FedspecError(f"{path}: [tool.fedspec] has {', '.join(sorted(unknown))}; known: plugins, check")
    table: dict[str, Any] = found
    return table


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def defaults(folder: Path) -> dict[str, Any]:
    """Return the defaults of ``fedspec check`` from pyproject.toml by argument name, and print them on stderr.

    Raises:
        FedspecError: an option is unknown, its value is of another type, or it writes outside of the project.
    """
    found = project(folder)
    if found is None:
        return {}
    path, said = found.path, found.table.get("check", {})
    if not isinstance(said, dict):
        raise FedspecError(f"{path}: [tool.fedspec] check = {_short(said)}; it must be a table, [tool.fedspec.check]")
    for name, value in said.items():
        if name not in CHECK:
            raise FedspecError(f"{path}: [tool.fedspec.check] has {name}; known: {', '.join(CHECK)}")
        if not _is_of(CHECK[name], value):
            of = "list of str" if CHECK[name] is list else CHECK[name].__name__
            raise FedspecError(f"{path}: [tool.fedspec.check] {name} = {_short(value)}; it must be of type {of}")
    if said:
        words = ", ".join(f"{name} = {value}" for name, value in said.items())
        sys.stderr.write(f"fedspec: check with {words}, as {path} says; what stands on the command line counts\n")
    at = {name: _placed(path, name, value) if name in PATHS else value for name, value in said.items()}
    return {name.replace("-", "_"): str(value) if name == "seed" else value for name, value in at.items()}


def _is_of(kind: type, value: Any) -> bool:
    if kind is list:
        return isinstance(value, list) and all(isinstance(one, str) for one in value)
    # True is an int too.
    return isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) is (kind is bool)


def _placed(path: Path, name: str, value: Any) -> Any:
    """Resolve a file that an option names against the project's folder.

    Raises:
        FedspecError: it would be written, and isn't below the project's folder.
    """
    if isinstance(value, list):
        return [_placed(path, name, one) for one in value]
    file = path.parent / value
    # A link may lead anywhere.
    if name in WRITTEN and path.parent.resolve() not in file.resolve().parents:
        raise FedspecError(
            f"{path}: [tool.fedspec.check] {name} = {_short(value)} is not below {path.parent}; "
            f"give --{name} on the command line to write there"
        )
    return str(file)
