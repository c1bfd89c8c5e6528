"""Lazy imports of z3, sympy, mpmath and Hypothesis, so that the ledger can be read and printed without them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fedspec.errors import FedspecError, to_install

__all__ = ["hypothesis", "mpmath", "sympy", "z3"]


class Later(ModuleType):
    """A module that is imported at the first access to one of its attributes."""

    def __getattr__(self, name: str) -> Any:
        """Import the module, and cache and return its attribute of that name.

        Raises:
            FedspecError: the module is not installed.
        """
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            found = getattr(import_module(self.__name__), name)
        except ModuleNotFoundError as missing:
            raise FedspecError(
                f"claims: {missing.name} is not installed; {to_install('solvers', 'fedspec-proofs')}"
            ) from missing
        setattr(self, name, found)
        return found


if TYPE_CHECKING:
    import hypothesis
    import mpmath
    import sympy
    import z3
else:
    hypothesis, mpmath, sympy, z3 = map(Later, ("hypothesis", "mpmath", "sympy", "z3"))
