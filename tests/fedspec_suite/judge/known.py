"""What every subject of a setting is compared with: rich cases, and how everything known answers them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

from fedspec_suite.judge.samples import samples_of
from fedspec_suite.judge.variants import CANNOT, Edition, Variant, as_claimed, single, systematic
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting


@dataclass(frozen=True, eq=False)
class Known:
    """What a subject is compared with on a setting; it is the same for every subject.

    Attributes:
        samples: rich cases.
        claimed: the specification under the claimed reading.
        variants: everything that has a name of its own.
        edits: systematic edits of the rules, tried where nothing that has a name fits.
    """

    samples: tuple[Scenario, ...]
    claimed: Variant
    variants: tuple[Variant, ...]
    edits: tuple[Variant, ...]

    @cache  # noqa: B019 - it lives as long as what is known does
    def editions(self, variant: Variant) -> Callable[[], Edition]:
        """What the sessions of a variant run in, one after another."""
        return variant.editions()

    @cache  # noqa: B019
    def exact(self, variant: Variant, k: int) -> list[Shown] | None:
        """What a variant answers on a sample; None where it cannot run."""
        try:
            return variant.exact(self.samples[k], self.editions(variant)())
        except CANNOT:
            return None


@lru_cache(maxsize=4)
def known_of(setting: Setting) -> Known:
    """The samples of a setting and the variants known there; each answers a sample when it is first asked."""
    return Known(samples_of(setting), as_claimed(setting), tuple(single(setting)), tuple(systematic(setting)))
