"""Serve an adapter in an environment where fedspec is not installed.

Called as ``python -I bootstrap.py FEDSPEC_DIRECTORY ADAPTER_FILE:ATTRIBUTE [DIRECTORY...]``. The
environment holds the package under test with the NumPy that it pins; the directory of the package
``fedspec``, and of others of this project that a subject is about, come by path, so that nothing
else beside them becomes importable. Standard library only.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def register(directory: Path) -> None:
    """Import a package of this project from the given directory, whose name is the package's."""
    name = directory.name
    found = importlib.util.spec_from_file_location(
        name, directory / "__init__.py", submodule_search_locations=[str(directory)]
    )
    if found is None or found.loader is None:
        raise SystemExit(f"bootstrap: {directory} is not a Python package")
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)


def main(arguments: list[str]) -> int:
    """Register fedspec, then serve the adapter."""
    if len(arguments) < 2:
        sys.stderr.write("usage: bootstrap.py FEDSPEC_DIRECTORY ADAPTER_FILE:ATTRIBUTE [DIRECTORY...]\n")
        return 2
    for directory in (arguments[0], *arguments[2:]):
        register(Path(directory))
    from fedspec.serve import main as serve

    return serve([arguments[1]])


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
