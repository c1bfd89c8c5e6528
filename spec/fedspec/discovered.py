"""Discovery of values that a package's modules define under one name, so that adding a file registers it."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any


def said(package: str, name: str, first: Sequence[str] = ()) -> Iterator[Any]:
    """Yield the values of a name in a package's modules: first the modules in ``first``, then all others by name.

    Raises:
        ImportError: a module is still being imported, so its value isn't known yet.
    """
    found = [module.name for module in pkgutil.iter_modules(import_module(package).__path__)]
    for module in (*first, *sorted(set(found) - set(first))):
        found_module = import_module(f"{package}.{module}")
        if getattr(found_module.__spec__, "_initializing", False):
            raise ImportError(
                f"{package}.{module}: circular import: {name} was requested while it loads; import less in it"
            )
        if name in vars(found_module):
            yield vars(found_module)[name]
