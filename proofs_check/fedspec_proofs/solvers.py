"""z3, sympy and mpmath, each imported when evidence first runs on it: the ledger is read and printed without them."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from fedspec.errors import FedspecError, to_install

__all__ = ["mpmath", "sympy", "z3"]


class Later(ModuleType):
    """A module that is imported when something of it is asked for."""

    def __getattr__(self, name: str) -> Any:
        """Import the module's attribute of that name, and keep it here.

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
    import mpmath
    import sympy
    import z3
else:
    mpmath, sympy, z3 = map(Later, ("mpmath", "sympy", "z3"))
