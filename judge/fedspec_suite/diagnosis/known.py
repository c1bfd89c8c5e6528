"""Sample cases of a setting and the known variants with their cached answers, shared by all subjects."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache, partial
from types import FunctionType
from typing import cast

from fedspec.domains import COUNTS
from fedspec.folding import folding_under
from fedspec.mixing.accumulation import a_norm, momentum_norm
from fedspec.readings import Solver
from fedspec.rules import equations
from fedspec.source_text import loaded, source_of
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.edits.at_hand import Text, seen_running
from fedspec_suite.diagnosis.edits.claimed import places, running
from fedspec_suite.diagnosis.edits.edit import Edit
from fedspec_suite.diagnosis.edits.mechanical import mechanical
from fedspec_suite.diagnosis.variants import (
    CANNOT,
    Edition,
    Variant,
    as_claimed,
    printed_by,
    single,
    systematic,
    without_rate,
)
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.closed_form_rounding import NORMS
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import Mutant, held, original

MOST = 4000
"""Largest number of mechanical edits that are tried, the likelier ones first."""


@dataclass(frozen=True, eq=False)
class Known:
    """Samples and variants of a setting; they are the same for every subject.

    Attributes:
        samples: rich cases.
        claimed: the specification under the claimed reading.
        variants: everything that has a name of its own.
        setting: the setting of the claim.
    """

    samples: tuple[Scenario, ...]
    claimed: Variant
    variants: tuple[Variant, ...]
    setting: Setting

    @cached_property
    def edits(self) -> tuple[Variant, ...]:
        """Systematic edits of the rules, tried if no named variant fits."""
        return tuple(systematic(self.setting))

    @property
    def mechanical(self) -> tuple[Variant, ...]:
        """Likelier mechanical edits, tried if no systematic edit fits."""
        return self._mechanical[:MOST]

    @property
    def mechanical_there(self) -> int:
        """Number of all mechanical edits, those beyond :data:`MOST` included."""
        return len(self._mechanical)

    @cached_property
    def _mechanical(self) -> tuple[Variant, ...]:
        return tuple(_mechanical(self.setting, self.samples))

    @cache  # noqa: B019 - it lives as long as what is known does
    def editions(self, variant: Variant) -> Callable[[], Edition]:
        """Return the factory of a variant's edited functions, cached."""
        return variant.editions()

    @cache  # noqa: B019
    def exact(self, variant: Variant, k: int) -> list[Shown] | None:
        """Return a variant's answers on sample ``k`` in running numbers; None if it cannot run."""
        try:
            return variant.exact(self.samples[k], self.editions(variant)())
        except CANNOT:
            return None


@lru_cache(maxsize=4)
def known_of(setting: Setting) -> Known:
    """Return the samples and known variants of a setting, cached; a variant's answers are computed when needed."""
    found = [*without_rate(setting), *single(setting)]
    # A rule that says less of what it is comes later: FedAvg is FedNova too, in a reading of its own.
    found.sort(key=lambda v: v.kind == "rule")
    return Known(samples_of(setting), as_claimed(setting), tuple(found), setting)


def _mechanical(setting: Setting, samples: Sequence[Scenario]) -> Iterator[Variant]:
    """Every mechanical edit of what runs on the samples."""
    one = replace(as_claimed(setting), parts=1, kind="edit")
    rules = running(setting)
    folded = {m.rule: m for m in folded_in(setting)}
    texts = [Text(f, folded.get(f"{f.__module__}.{f.__name__}")) for f in rules]
    whole = replace(one, mutants=tuple(folded.values()))
    seen_running(texts, lambda: [whole.answers(s) for s in samples])
    for text in texts:
        _drop_defaults(text, setting)
    told = [n for n in setting.numbers if n not in COUNTS]
    found = [*(e for text in texts for e in mechanical(text, told)), *printed_norms(setting, rules)]
    broken, of = cache(partial(_broken, setting)), places(setting)
    for e in sorted(found, key=lambda e: e.rank):
        yield replace(
            one,
            words=(words := of.get(e.mutant.rule, "") + e.words),
            equation=broken(e.symbol, original(e.mutant), _rate(e.words)),
            mutants=(e.mutant,),
            defects=e.asks,
            rank=e.rank,
            names=({"edit": words},),
        )


def _drop_defaults(text: Text, setting: Setting) -> None:
    """Leave out of a function's scope what no person means: defaults that the claim lacks, and variables of checks."""
    parameters = inspect.signature(text.function).parameters.values()
    lacking = {p.name for p in parameters if p.default is not p.empty} - {*setting.numbers}
    listed = [n.target for n in ast.walk(text.tree) if isinstance(n, ast.For) and isinstance(n.iter, ast.Tuple)]
    lacking |= {n.id for target in listed for n in ast.walk(target) if isinstance(n, ast.Name)}
    for kinds in text.kinds.values():
        for n in [n for n in lacking if kinds.get(n) in {"number", "count"}]:
            del kinds[n]


def folded_in(setting: Setting) -> Iterator[Mutant]:
    """Yield the setting's functions with their options resolved, as replacements of the functions that read options."""
    folding = folding_under(setting.algorithm, setting.options, whole=True)
    folding.add(*held(setting.algorithm, setting.level))
    for f, text in folding.texts.items():
        rule = f"{f.__module__}.{f.__name__}"
        yield Mutant(id=f"{rule} folded", words="", algorithms=(), rule=rule, old=source_of(f), new=text)


RATE = re.compile(r"\beta(?:_l)?\b")
"""Pattern of a learning rate, the server's or the clients'."""


def _rate(words: str) -> str:
    found = {*RATE.findall(words)}
    return found.pop() if len(found) == 1 else ""


def _broken(setting: Setting, symbol: str, rule: FunctionType, rate: str) -> str:
    """The equation of what a statement assigns; that of its rule where it has one alone; else none is said.

    A text that holds clients and server steps more than once: the step that is meant has the rate that is read.
    """
    own = {e.id for e in equations(rule, setting.options)} & printed_by(setting)
    mine = [e for e in sorted(own) if symbol and e.endswith(f".{symbol}")]
    steps = [e for e in setting.algorithm.running(setting.options) if e.id.endswith((".step", ".y"))]
    if symbol == "step" and not mine and len(steps) > 1:
        mine = [e.id for e in steps if rate and rate in RATE.findall(e.text)]
        return mine[0] if len(mine) == 1 else ""
    of_symbol = mine[0] if mine else symbol and setting.algorithm.equation(symbol, setting.options)
    if of_symbol or len(own) == 1:
        return of_symbol or own.pop()
    return ""


HEAD = "def a_norm(solver, tau, *, alpha=0, rho=0, gamma=1):\n    k = 0\n    return "


def printed_norms(setting: Setting, found: Sequence[FunctionType]) -> Iterator[Edit]:
    """Yield mechanical edits of the closed form of ||a_i||_1, if the given functions compute it.

    Args:
        setting: the setting of the claim.
        found: the functions that may run.
    """
    solver = Solver.MOMENTUM if momentum_norm in found else setting.options.get("solver")
    if a_norm not in found or solver is None or Solver(solver) not in NORMS:
        return
    form = NORMS[Solver(solver)]
    (text,) = seen_running([Text(cast(FunctionType, form))], lambda: form(0, 3, 0.3, 0.5, 0.7))
    rule, told = cast(FunctionType, a_norm), loaded(text.tree)
    for edit in mechanical(text):
        (function,) = ast.parse(edit.mutant.new).body
        assert isinstance(function, ast.FunctionDef)
        last = function.body[-1]
        assert isinstance(last, ast.Return) and last.value is not None
        if not loaded(last) <= told:
            # A number that has nothing to do with this form.
            continue
        mutant = replace(
            edit.mutant,
            rule=f"{rule.__module__}.{rule.__name__}",
            old=source_of(rule),
            new=f"{HEAD}{ast.unparse(last.value)}\n",
        )
        yield edit._replace(symbol="a_i", mutant=mutant)
