"""Conformance pages: the matrix of packages and algorithms, a page for each package, and a badge for each claim."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedspec.catalogue import CATALOGUE
from fedspec_site import verdicts
from fedspec_site.results import CAPSULES, KINDS, Offer, by_package, changes, offers
from fedspec_site.writing import Source
from fedspec_suite.report.badges import NOT_OFFERED, Kind, of_offer


@dataclass(frozen=True)
class Cell:
    """Claims of one package about one algorithm.

    Attributes:
        package: the package.
        offers: its offers of the algorithm; may be empty.
    """

    package: str
    offers: tuple[Offer, ...]

    @property
    def kinds(self) -> list[tuple[Kind, int]]:
        """Number of claims of each kind of verdict."""
        return verdicts.count_kinds([o.kind for o in self.offers])

    @property
    def names(self) -> str:
        """CSS names of the kinds in the cell."""
        return " ".join(kind.name for kind, _ in self.kinds) or NOT_OFFERED.name

    @property
    def words(self) -> str:
        """Text for screen readers."""
        return ", ".join(f"{n} {kind.word}" for kind, n in self.kinds) or "not claimed"


def matrix() -> dict[str, tuple[Cell, ...]]:
    """Return the row of each algorithm that a package claims, in the catalogue's order."""
    packages = by_package()
    offered = {o.algorithm for o in offers()}
    return {
        id: tuple(Cell(name, tuple(o for o in mine if o.algorithm == id)) for name, mine in packages.items())
        for id in CATALOGUE
        if id in offered
    }


def write(source: Source) -> None:
    """Write the pages and the badges."""
    packages = by_package()
    lines = matrix()
    of_algorithm = {id: [o for cell in cells for o in cell.offers] for id, cells in lines.items()}
    source.page(
        "conformance/index",
        "conformance",
        lines=lines,
        packages=packages,
        offers=offers(),
        totals={id: verdicts.count_kinds([o.kind for o in mine]) for id, mine in of_algorithm.items()},
        sums={name: verdicts.count_kinds([o.kind for o in mine]) for name, mine in packages.items()},
        kinds=verdicts.KINDS,
        counted=verdicts.count_kinds([o.kind for o in offers()]),
        without=[id for id in CATALOGUE if id not in lines],
        dates=_span([o.date for o in offers()]),
        judges=", ".join(dict.fromkeys(f"{o.judge}, profile {o.profile}, seed {o.seed}" for o in offers())),
        packages_before={name: one for name, one in changes().items() if one["since"]},
        algorithms=len(CATALOGUE),
        mark=verdicts.mark,
        NONE=NOT_OFFERED,
    )
    for name, mine in packages.items():
        counted = verdicts.count_kinds([o.kind for o in mine])
        source.page(f"conformance/{name}", "package", name=name, offers=mine, counted=counted, KINDS=KINDS)
        for o in mine:
            _badges(source, o)
            if o.capsule:
                source.copy(f"_extra/capsules/{o.capsule}", CAPSULES / o.capsule)


def _span(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return first if first == last else f"{first} to {last}"


def _badges(source: Source, o: Offer) -> None:
    """A picture and the JSON that shields.io takes an endpoint's badge from."""
    badge = of_offer(o.algorithm, o.verdict)
    where = f"_extra/badges/{o.package}/{o.slug}"
    source.put(f"{where}.svg", badge.svg())
    source.put(f"{where}.json", badge.json())
