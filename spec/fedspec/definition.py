"""Published definitions (readings) of an algorithm's name: their source, the options they fix, their requirements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from fedspec.contract import Level


class Basis(StrEnum):
    """Kind of source that a row's text follows; ``fedspec list`` prints the value."""

    READ = "paper"
    CODE = "code"
    MEMORY = "memory"
    OURS = "ours"
    UNSAID = ""

    @property
    def words(self) -> str:
        """Kind of source in words, as ``fedspec show`` prints it."""
        return _BASES[self]


_BASES = {
    Basis.READ: "the publication, which was opened",
    Basis.CODE: "published code; the publication was not opened, beyond its abstract",
    Basis.MEMORY: "memory, as far as is recorded: neither the publication nor its code was opened",
    Basis.OURS: "no publication, which names it at most",
    Basis.UNSAID: "what the row does not say",
}


@dataclass(frozen=True, kw_only=True)
class Requirement:
    """A relation between hyper-parameters that a reading requires."""

    id: str
    words: str
    about: tuple[str, ...]
    holds: Callable[[Mapping[str, Any]], bool]


def v0_at_least_tau_squared(algorithm: str) -> Requirement:
    """Requirement v_0 >= tau^2 of Reddi et al. (2021) for an adaptive server."""
    return Requirement(
        id=f"{algorithm}.v0",
        words="v_0 >= tau^2",
        about=("v0", "tau"),
        holds=lambda h: h["v0"] >= h["tau"] * h["tau"],
    )


def above_zero(algorithm: str, name: str) -> Requirement:
    """Requirement that a hyper-parameter is > 0 in this reading, although other readings allow 0."""
    return Requirement(id=f"{algorithm}.{name}", words=f"{name} > 0", about=(name,), holds=lambda h: h[name] > 0)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A published definition of an algorithm's name.

    Attributes:
        name: name that a claim declares.
        words: the definition in words, with its source.
        fixes: the options that the reading decides; an adapter declares all other options.
        requires: relations between hyper-parameters that the reading requires.
        levels: levels at which the reading can be judged; empty: all levels of the algorithm.
        formerly: former names of the reading, the oldest first; claims may still use these.
    """

    name: str
    words: str
    fixes: Mapping[str, str] = field(default_factory=dict)
    requires: tuple[Requirement, ...] = ()
    levels: tuple[Level, ...] = ()
    formerly: tuple[str, ...] = ()

    @property
    def stored(self) -> str:
        """Name under which vectors and kills are stored: the reading's first name, so renaming moves no files."""
        return self.formerly[0] if self.formerly else self.name

    @property
    def told(self) -> str:
        """The reading's words, followed by its former names."""
        return f"{self.words}; formerly {', '.join(self.formerly)}" if self.formerly else self.words
