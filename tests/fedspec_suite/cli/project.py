"""What a project's pyproject.toml says under ``[tool.fedspec]``: own algorithms, and defaults of ``fedspec check``."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError

PATHS = ("report", "capsules", "expect")
"""Options of check that name files: where pyproject.toml lies, wherever the command is run."""
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
"""Options of check that may stand under ``[tool.fedspec.check]``, and what their values are."""


def table(folder: Path) -> tuple[Path, dict[str, Any]]:
    """The nearest pyproject.toml and its table; an empty one where there is none.

    Raises:
        FedspecError: it cannot be read, or says something that fedspec does not know.
    """
    path = next((p for f in (folder, *folder.parents) if (p := f / "pyproject.toml").is_file()), None)
    if path is None:
        return folder / "pyproject.toml", {}
    try:
        found: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8")).get("tool", {}).get("fedspec", {})
    except (OSError, ValueError) as error:
        raise FedspecError(f"{path}: cannot be read ({error})") from error
    if unknown := found.keys() - {"plugins", "check"}:
        raise FedspecError(f"{path}: [tool.fedspec] has {', '.join(sorted(unknown))}; known: plugins, check")
    return path, found


def defaults(folder: Path) -> dict[str, Any]:
    """The defaults of ``fedspec check``, by the names of its arguments; told on standard error.

    Raises:
        FedspecError: an option is unknown, or its value is of another type.
    """
    path, found = table(folder)
    said = found.get("check", {})
    for name, value in said.items():
        if name not in CHECK:
            raise FedspecError(f"{path}: [tool.fedspec.check] has {name}; known: {', '.join(CHECK)}")
        kind = CHECK[name]
        if not isinstance(value, (int, float) if kind is float else kind) or (kind is int and isinstance(value, bool)):
            raise FedspecError(f"{path}: [tool.fedspec.check] {name} = {value!r}; it is of type {kind.__name__}")
    if said:
        words = ", ".join(f"{name} = {value}" for name, value in said.items())
        sys.stderr.write(f"fedspec: check with {words}, as {path} says; what stands on the command line counts\n")

    def placed(value: Any) -> Any:
        return [placed(v) for v in value] if isinstance(value, list) else str(path.parent / value)

    at = {name: placed(value) if name in PATHS else value for name, value in said.items()}
    return {name.replace("-", "_"): str(value) if name == "seed" else value for name, value in at.items()}
