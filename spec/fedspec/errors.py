"""Exceptions that fedspec raises for bad input; all derive from FedspecError.

Every message names the argument, its value and the remedy, so that a command can print it unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable


class FedspecError(ValueError):
    """Base class of fedspec's errors; the message names the problem, its place and the remedy."""


class ParameterError(FedspecError):
    """A hyper-parameter lies outside its domain (negative, NaN, not below one, ...)."""


class ShapeError(FedspecError):
    """An array has a wrong shape or type, or arrays don't fit together."""


class WeightError(FedspecError):
    """Aggregation weights are negative, don't sum to one, or belong to no client."""


class PlanError(FedspecError):
    """A round's plan can't run: for example, it has no participants, an unknown client, or no local steps."""


class CoverError(FedspecError):
    """Index sets don't cover all coordinates, or are invalid."""


class MixingError(FedspecError):
    """A mixing matrix is not doubly stochastic."""


class UnknownNameError(FedspecError):
    """A name (algorithm, reading, option, subject, law) is not in the catalogue."""


class InexactError(FedspecError):
    """A result can't be represented in an exact arithmetic, such as the root of 2 among rationals."""


class ContractError(FedspecError):
    """An adapter, or a message to or from it, breaks the adapter contract."""


class PluginError(FedspecError):
    """A file with a user's own algorithm can't be loaded, or its row is invalid."""


def none_called(what: str, name: str, known: Iterable[str], command: str) -> UnknownNameError:
    """Error for an unknown name: the most similar names, and the command that lists all names."""
    return UnknownNameError(f"{what}: none is called {name!r}; {nearest(name, known)}`{command}` lists them")


def nearest(name: str, known: Iterable[str]) -> str:
    """Message fragment with the known names most similar to an unknown name; empty if none is similar."""
    # Only who has made a mistake waits for it.
    import difflib

    near = difflib.get_close_matches(name, [*known])
    return f"nearest: {', '.join(near)}; " if near else ""


SOURCES = {"fedspec": ".", "fedspec-torch": "./impl", "fedspec-proofs": "./proofs_check"}
"""Folder of each distribution in fedspec's source tree."""


def to_install(extras: str, distribution: str = "fedspec") -> str:
    """Command that installs a distribution from fedspec's source or from its wheel; no index has one.

    Args:
        extras: the needed extras, such as ``certify,solvers``; empty: none.
        distribution: one of ``SOURCES``.
    """
    from fedspec import __version__

    wheel = f"{distribution.replace('-', '_')}-{__version__}-py3-none-any.whl"
    source, file = (f"{place}[{extras}]" if extras else place for place in (SOURCES[distribution], wheel))
    return f"pip install '{source}' in fedspec's source, or pip install '{file}' in the folder that has the wheel"
