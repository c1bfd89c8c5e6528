"""Functions of the words of a claim, such as ``clip-norm 1``: diagnosis edits them as it edits an algorithm's."""

from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import cast

from fedspec import averaging, steps
from fedspec.chain import LINKS, MICRO
from fedspec.schedules import FACTORS, schedule_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions

OF_MESSAGES = {
    "weight-cap": averaging.capped,
    "divisor": averaging.divided,
    "divisor-at-least": averaging.divided_at_least,
    "mean-clip-norm": averaging.mean_clipped,
    "noise": averaging.noisy,
    "fixed-random": averaging.at_random,
}

OF_STEPS = {
    steps.BEFORE: steps.decayed,
    steps.LATE: steps.decayed,
    steps.ALONE: steps.decayed_alone,
    "lookahead": steps.synchronised,
}

KNOWN = cast(dict[str, FunctionType], {**LINKS, **MICRO, **OF_MESSAGES, **OF_STEPS})


def claimed(setting: Setting) -> dict[FunctionType, str]:
    """Return the functions of a claim's words, each with the word."""
    return dict(_claimed(setting))


def _claimed(setting: Setting) -> Iterator[tuple[FunctionType, str]]:
    for word in (*setting.gradients, *setting.messages, *setting.steps):
        # Each block is clipped as a whole gradient is.
        for name in dict.fromkeys((word.split()[0], word.split()[0].replace("-block", ""))):
            if name in KNOWN:
                yield KNOWN[name], word
    for name, said in setting.schedules.items():
        yield cast(FunctionType, FACTORS[schedule_of(said).shape]), f"schedule of {name}"


def running(setting: Setting) -> list[FunctionType]:
    """List the functions of an algorithm at a level, and those of the claim's words."""
    return [*functions(setting.algorithm, setting.level), *claimed(setting)]


def places(setting: Setting) -> dict[str, str]:
    """Return the words of a claim by the names of their functions, each as words that begin a description."""
    return {f"{f.__module__}.{f.__name__}": f"{word}: " for f, word in claimed(setting).items()}
