"""What the files of a package say under a name, so that a new file joins by being there."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any


def said(package: str, name: str, first: Sequence[str] = ()) -> Iterator[Any]:
    """The values of that name in the modules of a package: of those named first in their order, then of the others."""
    found = [module.name for module in pkgutil.iter_modules(import_module(package).__path__)]
    for module in (*first, *sorted(set(found) - set(first))):
        values = vars(import_module(f"{package}.{module}"))
        if name in values:
            yield values[name]
