"""Serve an adapter in an environment where fedspec is not installed.

Called as ``python -I bootstrap.py FEDSPEC_DIRECTORY ADAPTER_FILE:ATTRIBUTE``. The environment holds
the package under test with the NumPy that it pins; the directory of the package ``fedspec`` comes
by path, so that nothing else beside it becomes importable. Standard library only.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def register(directory: Path) -> None:
    """Make ``import fedspec`` find the package in the given directory."""
    found = importlib.util.spec_from_file_location(
        "fedspec", directory / "__init__.py", submodule_search_locations=[str(directory)]
    )
    if found is None or found.loader is None:
        raise SystemExit(f"bootstrap: {directory} is not a Python package")
    module = importlib.util.module_from_spec(found)
    sys.modules["fedspec"] = module
    found.loader.exec_module(module)


def main(arguments: list[str]) -> int:
    """Register fedspec, then serve the subject."""
    if len(arguments) != 2:
        sys.stderr.write("usage: bootstrap.py FEDSPEC_DIRECTORY ADAPTER_FILE:ATTRIBUTE\n")
        return 2
    register(Path(arguments[0]))
    from fedspec.serve import main as serve

    return serve([arguments[1]])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
