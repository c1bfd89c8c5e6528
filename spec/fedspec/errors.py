"""The one family of errors that fedspec raises for bad input.

Every message names the argument, the value it had and the remedy, so that a command line can print it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable


class FedspecError(ValueError):
    """Something was asked of fedspec that it cannot answer; the message says what, where and what to do."""


class ParameterError(FedspecError):
    """A hyper-parameter lies outside its domain (negative, NaN, not below one, ...)."""


class ShapeError(FedspecError):
    """Two arrays that must agree in shape do not."""


class WeightError(FedspecError):
    """Aggregation weights are negative, do not sum to one, or belong to nobody."""


class PlanError(FedspecError):
    """A round's plan cannot be run: nobody takes part, a client is unknown, no local step is asked for."""


class CoverError(FedspecError):
    """A family of index sets does not cover the coordinates."""


class MixingError(FedspecError):
    """A mixing matrix is not doubly stochastic."""


class UnknownNameError(FedspecError):
    """A name (algorithm, reading, option, subject, law) is not in the catalogue."""


class InexactError(FedspecError):
    """An exact arithmetic was asked for a number that it does not contain, such as the root of 2."""


class ContractError(FedspecError):
    """A subject, or a message to or from one, does not keep the subject contract."""


class PluginError(FedspecError):
    """A file with somebody's own algorithm cannot be loaded, or says what cannot be."""


def none_called(what: str, name: str, known: Iterable[str], command: str) -> UnknownNameError:
    """Error for an unknown name: the most similar names, and the command that lists all names."""
    return UnknownNameError(f"{what}: none is called {name!r}; {nearest(name, known)}`{command}` lists them")


def nearest(name: str, known: Iterable[str]) -> str:
    """The names most like one that nothing has, to go before the remedy; empty where none is."""
    # Only who has made a mistake waits for it.
    import difflib

    near = difflib.get_close_matches(name, [*known])
    return f"nearest: {', '.join(near)}; " if near else ""


SOURCES = {"fedspec": ".", "fedspec-torch": "./impl", "fedspec-proofs": "./proofs_check"}
"""Places of the distributions in fedspec's source."""


def to_install(extras: str, distribution: str = "fedspec") -> str:
    """Command that installs a distribution: none is on an index, so from fedspec's source or from its wheel.

    Args:
        extras: the needed extras, as in ``certify,solvers``; empty: none.
        distribution: one of ``SOURCES``.
    """
    from fedspec import __version__

    wheel = f"{distribution.replace('-', '_')}-{__version__}-py3-none-any.whl"
    source, file = (f"{place}[{extras}]" if extras else place for place in (SOURCES[distribution], wheel))
    return f"pip install '{source}' in fedspec's source, or pip install '{file}' where its wheel is"
