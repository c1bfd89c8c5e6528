"""Defects of gradient chains: a link omitted, moved or replaced."""

from __future__ import annotations

from collections.abc import Iterator

from fedspec.chain import LINKS
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.measure.scenario import with_gradients
from fedspec_suite.measure.setting import Setting


def _others(claimed: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Words for other chains, and the chains."""
    for k, link in enumerate(claimed):
        before, after = claimed[:k], claimed[k + 1 :]
        yield f"no {link} of gradients", (*before, *after)
        if after:
            yield f"{link} comes after {after[0]}, not before it", (*before, after[0], link, *after[1:])
        name, _, number = link.partition(" ")
        for other in LINKS:
            if other != name and "decay" not in (other, name):
                yield f"{other} {number} of gradients, not {link}", (*before, f"{other} {number}", *after)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield a defect for each other chain of gradient transformations."""
    for words, links in _others(setting.gradients):
        yield Defect(words=words, given=lambda s, links=links: with_gradients(s, *links))  # type: ignore[misc]
