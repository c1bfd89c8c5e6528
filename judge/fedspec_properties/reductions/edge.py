"""Reductions as data: under a restriction, an algorithm gives the same run as another one.

Each edge is a law of its source: what the subject answers is compared with the specification of the *target*, told the
same story in the target's words. The edges together are the graph that ``fedspec graph`` draws. For example::

    reduces("scaffnew", "vrl-sgd", "Mishchenko et al. (2022) beside Liang et al. (2019): h_i = v_i")
    .under("every K-th coin says 1, and p = 1 / K", narrow=with_period, needs=("chance",))
    .told(divisor="own-steps"),

Only what is not usual is said. Of its own accord an edge holds at every level that both algorithms have, its run is
told with the options and hyper-parameters that both have, and the words of a restriction are the values that it sets.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Begin, Event, Level
from fedspec.params import flatten
from fedspec_suite.laws.applicability import both, only, option
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench, reference
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.running_error import from_floats
from fedspec_suite.measure.scenario import Scenario, describe, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Beyond

Change = Callable[[Scenario], Scenario]
Narrow = Callable[[st.DrawFn, Setting, Scenario], Scenario]

ABSENT = {"eta": 1, "v0": 0.0, "v_hat0": 0.0, "weights": "uniform"}
"""Values of the target's parameters that the source lacks: an idle server, zero starts, equal clients."""

COLUMNS = ("strategies", "scales", "noise", "draws", "clusters")
"""Fields of an event that only some algorithms read; they are removed if the target doesn't."""

SYMBOLS = {"v0": "v_0", "v_hat0": "v_hat_0"}
"""Printed symbols of hyper-parameters that differ from their names."""


def _as_drawn(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return s


def _itself(s: Scenario, x: Array) -> Array:
    return x


def _each(s: Scenario, k: int) -> int:
    return k


@dataclass(frozen=True, kw_only=True)
class Edge:
    """Reduction: an algorithm under a restriction equals another one.

    Attributes:
        id: stable slug, also that of the law.
        source: the algorithm that is restricted.
        target: the algorithm that it then equals.
        when: the restriction, in words.
        cited: the statement it comes from.
        level: level at which the source is run.
        carry: the same run in the target's words.
        narrow: imposes the restriction on a drawn scenario of the source.
        options: required options of the source; its other options are free.
        needs: hyper-parameters that the restriction sets, so that a subject must not pin them.
        zeroes: hyper-parameters of ``needs`` that it sets to zero.
        back: the source's model that a model of the target stands for.
        at: event of the target that corresponds to event k of the source; -1: none yet, the model is x0; None: event k
            has no counterpart.
        draw: settings with which scenarios of the source are drawn, by name.
        about: hyper-parameters that the restriction compares something with; it leaves them as they are drawn.
        also: other levels where it holds in the same words.
        roots: True if it takes roots that no fraction has; 50-digit decimals then agree to 45 digits.
        undecided: True if sympy does not decide it in time: it holds at random rational points, and is not proved.
    """

    id: str
    source: str
    target: str
    when: str
    cited: str
    level: Level
    carry: Change
    narrow: Narrow = _as_drawn
    options: Mapping[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    zeroes: tuple[str, ...] = ()
    back: Callable[[Scenario, Array], Array] = _itself
    at: Callable[[Scenario, int], int | None] = _each
    draw: Mapping[str, Any] = field(default_factory=dict)
    about: tuple[str, ...] = ()
    also: tuple[Level, ...] = ()
    roots: bool = False
    undecided: bool = False

    @property
    def exact(self) -> str:
        """Arithmetic in which the two sides are compared without tolerance."""
        return "decimals" if self.roots else "fractions"

    @property
    def symbolic(self) -> str:
        """Kind of symbolic proof on a small instance, for all values of the symbols."""
        return "points" if self.undecided else "identity"

    @property
    def words(self) -> str:
        """The edge as a sentence."""
        return f"{self.source} is {self.target} when {self.when}"

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels at which the edge is a law."""
        return (self.level, *self.also)

    def under(
        self,
        when: str = "",
        /,
        *changes: Change,
        narrow: Narrow | None = None,
        needs: tuple[str, ...] = (),
        about: tuple[str, ...] = (),
        **named: Any,
    ) -> Edge:
        """Return the edge with a further restriction on the source.

        Args:
            when: the restriction, in words; the values in ``named`` if there are none.
            changes: functions that impose the restriction on a scenario, applied in turn.
            narrow: function that imposes the restriction by drawing, before ``changes``.
            needs: hyper-parameters that ``changes`` and ``narrow`` set.
            about: hyper-parameters that they compare something with.
            named: required options of the source, values of its hyper-parameters and sizes of drawn scenarios, by name.
        """
        row = CATALOGUE[self.source]
        values = {n: v for n, v in named.items() if n in row.numbers}

        def imposed(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
            for restrict in (self.narrow, narrow or _as_drawn):
                s = restrict(draw, setting, s)
            for change in changes:
                s = change(s)
            return with_hyper(s, **values)

        return replace(
            self,
            when=when or self.when or ", ".join(f"{SYMBOLS.get(n, n)} = {v:g}" for n, v in values.items()),
            narrow=imposed if narrow or changes or values else self.narrow,
            options={**self.options, **{n: v for n, v in named.items() if n in row.options}},
            needs=(*self.needs, *needs, *values),
            zeroes=(*self.zeroes, *(n for n, v in values.items() if v == 0)),
            draw={**self.draw, **{n: v for n, v in named.items() if n not in row.options and n not in row.numbers}},
            about=(*self.about, *about),
        )

    def told(
        self,
        *changes: Change,
        at: Callable[[Scenario, int], int | None] = _each,
        back: Callable[[Scenario, Array], Array] = _itself,
        **named: Any,
    ) -> Edge:
        """Return the edge with a rule that translates the source's run to the target.

        Args:
            changes: functions that make the target's events, model and problem, applied in turn.
            at: event of the target that corresponds to an event of the source.
            back: the source's model that a model of the target stands for.
            named: options and hyper-parameters of the target by name. A function makes one from the hyper-parameters h
                and options o of the scenario so changed.
        """
        row = CATALOGUE[self.target]
        unread = {n: () for n in COLUMNS if n not in row.takes}
        assert named.keys() <= {*row.options, *row.numbers}, f"{self.id}: {row.id} does not have all of {[*named]}"

        def heard(e: Any) -> Event:
            heard: Event = replace(e, **{n: v for n, v in unread.items() if hasattr(e, n)})
            return heard

        def carry(s: Scenario) -> Scenario:
            for change in changes:
                s = change(s)
            h, o = s.case.hyper, s.case.options
            said: dict[str, Any] = {n: v for n, v in ABSENT.items() if n not in h and n not in o}
            said |= {n: v(h, o) if callable(v) else v for n, v in named.items()}
            options = {n: v for n, v in said.items() if n in row.options}
            return translated(s, row.id, [heard(e) for e in s.events], options=options, hyper=said)

        return replace(self, carry=carry, at=at, back=back)

    def named(self, id: str) -> Edge:
        """Return the edge with its own id, needed if the same source and target have several edges."""
        return replace(self, id=id)

    def having(self, **fields: Any) -> Edge:
        """Return the edge with other fields replaced."""
        return replace(self, **fields)


def reduces(
    source: str, target: str, cited: str, *, levels: Sequence[Level] = (), roots: bool = False, undecided: bool = False
) -> Edge:
    """Return an edge without restriction; add one by :meth:`Edge.under`, and a translation by :meth:`Edge.told`."""
    here, there = CATALOGUE[source].levels, CATALOGUE[target].levels
    level, *also = levels or [at for at in here if at in there] or here[-1:]
    edge = Edge(
        id=f"{source}-is-{target}",
        source=source,
        target=target,
        when="",
        cited=cited,
        level=level,
        carry=lambda s: s,
        also=tuple(also),
        roots=roots,
        undecided=undecided,
    )
    return edge.told()


rooted = partial(reduces, roots=True)
"""Return an edge whose run takes irrational roots."""


def translated(
    s: Scenario,
    algorithm: str,
    events: Sequence[Event] | None = None,
    *,
    options: Mapping[str, str] | None = None,
    hyper: Mapping[str, Any] | None = None,
) -> Scenario:
    """Translate a scenario to another algorithm, keeping options and hyper-parameters of the same name."""
    target = CATALOGUE[algorithm]
    level = s.case.level if s.case.level in target.levels else target.levels[-1]
    kept = {n: v for n, v in s.case.options.items() if n in target.options}
    numbers = {**s.case.hyper, **(hyper or {})}
    chosen = {**target.defaults(), **kept, **(options or {})}
    case = replace(
        s.case,
        algorithm=algorithm,
        level=level,
        reading=target.readings[0].name,
        options=chosen,
        hyper={n: numbers[n] for n in target.numbers_under(level, chosen) if n in numbers},
    )
    return Scenario(case, s.events if events is None else tuple(events))


# One strategy for all edges: to make one, Hypothesis reads its source, and every command would wait for 127 of them.
@st.composite
def _cases(draw: st.DrawFn, edge: Edge, setting: Setting) -> Scenario:
    return edge.narrow(draw, setting, draw(scenarios(setting, **edge.draw)))


def law_of(edge: Edge) -> Law:
    """Return the law that an edge defines."""

    def check(bench: Bench, s: Scenario) -> None:
        try:
            there = edge.carry(s)
        except ZeroDivisionError as error:
            raise Beyond(f"skipped: a hyper-parameter of {edge.target} would be a division by 0") from error
        want = [
            from_floats(flatten(s.case.x0), s.case.dtype),
            *(edge.back(s, answer["x"]) for answer in reference(there)),
        ]
        scale = bench.expect(s)
        for k, got in enumerate(bench.play(s)):
            at = edge.at(s, k)
            if isinstance(s.events[k], Begin) or at is None:
                continue
            wanted = want[at + 1]
            bounds = np.array([max(a.bound, b.bound) for a, b in zip(scale[k]["x"], wanted, strict=True)])
            bench.compare("x", got["x"], wanted, f"{describe(s.events[k])} {k + 1}", bounds)

    return Law(
        id=edge.id,
        words=edge.words,
        levels=edge.levels,
        source=edge.cited,
        cases=partial(_cases, edge),
        check=check,
        applies=both(only(edge.source), *(option(n, v) for n, v in edge.options.items())),
        needs=edge.needs,
        zeroes=edge.zeroes,
    )
