"""Helpers of this folder's adapters: the path of the neighbouring folders, packages' versions, and saved folders.

To import ``source`` of ``../diloco``, which reads clones, or ``clients`` of ``../lora``, import this module first.
"""

from __future__ import annotations

import io
import sys
import tarfile
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("diloco", "lora")]


def published(name: str, version: str, *empty: str) -> str:
    """Check that a package is installed at this version, and return the version.

    Args:
        name: name of the package in the index.
        version: the one that was read and run.
        empty: its packages whose ``__init__.py`` is not run, because it imports more than is asked for.

    Raises:
        RuntimeError: it is not installed, or another version is.
    """
    remedy = f"pip install --no-deps {name}=={version}"
    try:
        found = distribution(name)
    except PackageNotFoundError as error:
        raise RuntimeError(f"{name} is not installed: {remedy}") from error
    if found.version != version:
        raise RuntimeError(f"{name} is installed at {found.version}, but this adapter needs {version}: {remedy}")
    for package in empty:
        made = ModuleType(package)
        made.__path__ = [str(found.locate_file(package.replace(".", "/")))]
        sys.modules[package] = made
    return version


def packed(save: Callable[[Path], object]) -> bytes:
    """Call a function that writes files into a folder, and return the folder as an archive."""
    written = io.BytesIO()
    with TemporaryDirectory() as folder, tarfile.open(fileobj=written, mode="w") as archive:
        save(Path(folder))
        archive.add(folder, ".")
    return written.getvalue()


def unpacked(saved: bytes, load: Callable[[Path], object]) -> None:
    """Call a function that reads files from a folder, with the folder that an archive holds."""
    with TemporaryDirectory() as folder, tarfile.open(fileobj=io.BytesIO(saved)) as archive:
        archive.extractall(folder, filter="data")
        load(Path(folder))
