"""The average of a claim's messages, written as a formula: the factor b_i of each change, and that of the noise.

The average is sum_i b_i Delta_i + s_z z: a claim's clips, weights and divisor make b_i, its noise makes s_z. Both are
solved for by least squares, where changes and noise are linearly independent, and written as formulas of n_i,
||Delta_i||, their sums and the claim's numbers (``formulas.py``).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice, product
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import Array, array, maximum, minimum, norm, numbers, ratio
from fedspec.averaging import Sent, delivered, delivery
from fedspec.averaging import noisy as noisy_average
from fedspec.chain import as_number
from fedspec.contract import Case, Event
from fedspec.plan import Messages
from fedspec.source_text import copied
from fedspec_suite.diagnosis.defects.defect import Running, calling, stepping
from fedspec_suite.diagnosis.edits.edit import Put, swapped
from fedspec_suite.diagnosis.variants import CANNOT, Variant, of_own
from fedspec_suite.diagnosis.written.box import parts_of
from fedspec_suite.diagnosis.written.notation import in_symbols
from fedspec_suite.diagnosis.written.plays import Play
from fedspec_suite.diagnosis.written.weights import CONDITION, SLACK, TRIED, mean_of, near
from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.formulas import ROWS, evaluated, smallest, terms_of
from fedspec_suite.measure.reaching import WEIGH, OpenMean, flat_model
from fedspec_suite.measure.setting import Setting

DELIVERED, NOISY = cast(FunctionType, delivered), cast(FunctionType, noisy_average)

NUMBERS = {"clip-norm": "c", "weight-cap": "w", "divisor": "D", "divisor-at-least": "D", "noise": "s"}
"""Symbols of a claim's numbers."""

OF_CLIENT = {
    "p_i": "p_i",
    "n_i": "n_i",
    "d_i": "norm(delta_i)",
    "v_i": "c / norm(delta_i)",
    "u_i": "minimum(1, c / norm(delta_i))",
    "w_i": "minimum(n_i / w, 1)",
    "m_i": "minimum(1, c / norm(delta_i_matrices))",
}
"""Leaves with a number for each client, written out; ``S_d`` is the sum of the third, and so on."""

WRITTEN = {
    **OF_CLIENT,
    **{f"S_{n[0]}": f"sum({said.replace('_i', '_j')})" for n, said in OF_CLIENT.items()},
    "x": "norm(x)",
    "mean": "norm(sum(p_j * delta_j))",
    "total": "norm(sum(delta_j))",
    "L_n": "max(n_j)",
    "two": "2",
    "most": "maximum(D, sum(w_j))",
}
"""All leaves that stand for an expression; the others have one number for a round."""

GROUPS = (
    {"n_i", "v_i", "u_i", "w_i", "M", "S_w", "S_n", "L_n", "w", "D"},
    {"p_i", "w_i", "m_i", "M", "D"},
    {"p_i", "v_i", "d_i", "c", "x", "mean", "total", "M"},
)
"""Leaves of larger formulas."""

POWERS = (-1, -0.5, 0.5, 1)
"""Exponents by which those of the claimed noise may be off."""

FACTORS = ("s", "c", "D", "M", "S_w", "S_n", "eta", "two", "most", "blocks")
"""Symbols of the noise's factor."""


AGAIN, FEW = 3, 8
"""Number of searches for a formula, and number of rows that a formula missed which the next one sees."""


@dataclass(frozen=True)
class Solved:
    """A round.

    Attributes:
        b: the subject's factors of the changes.
        claimed: the claimed ones.
        z: the subject's factor of the noise, and the claimed one.
        values: inputs of formulas by name, one number for each client.
    """

    b: Array
    claimed: Array
    z: tuple[float, float]
    values: Mapping[str, Array]


def averaged(plays: Sequence[Play], setting: Setting) -> Iterator[Variant]:
    """The claimed rule with the subject's average, if formulas give its factors in all plays."""
    if not setting.messages or setting.level not in ("server", "round"):
        return
    try:
        rounds = [r for play in plays for r in _rounds(play)]
    except (KeyError, *CANNOT):
        return
    if not rounds:
        return
    b, claimed = (np.concatenate([getattr(r, n) for r in rounds]) for n in ("b", "claimed"))
    values = {n: np.concatenate([r.values[n] for r in rounds]) for n in rounds[0].values}
    z, of_z = np.array([r.z for r in rounds]).T
    noise = {n: np.array([r.values[n][0] for r in rounds]) for n in values if not n.endswith("_i")}
    of_noise = "" if near(z, of_z).all() else _noise(z, of_z, noise)
    if of_noise is None:
        return
    if near(b, claimed).all():
        if of_noise:
            yield _variant(setting, None, None, of_noise)
        return
    wanted = next(_formulas(claimed, values), None)
    for formula in islice(_formulas(b, values, wanted), TRIED):
        yield _variant(setting, formula, wanted, of_noise)


def _rounds(play: Play) -> Iterator[Solved]:
    """The factors of each round.

    Raises:
        KeyError: no sum of changes and noise leads to the subject's model.
    """
    mean = OpenMean()
    last: dict[str, Any] = {}
    raw: list[tuple[Array, Array, Sequence[Any]]] = []

    def delivered_in_place(names: Spaces) -> Any:
        def deliver(words: Any, m: Messages, sent: Sent) -> Messages:
            raw[:] = [(np.asarray(m.deltas, float), np.asarray(sent.noise, float), m.examples)]
            return delivered(words, m, sent)

        return deliver

    session = play.session({WEIGH: mean.in_place, DELIVERED: delivered_in_place})
    for event, answer in zip(play.s.events, play.answers, strict=False):
        before = {**vars(session)}

        def taken(y: Array | None, event: Any = event, before: Any = before) -> Array:
            vars(session).update(before)
            mean.now = y
            mean.calls.clear()
            last.clear()
            last.update(session.step(event))
            return flat_model(last)

        x = np.asarray(model(before["state"]), float)
        mean.last = 0
        plain = taken(None)
        mean.last = len(mean.calls)
        if not mean.calls or not raw:
            raise KeyError("not one mean of the messages")
        w, rows = mean.calls[-1]
        y = mean_of(session, answer, last, taken, w @ rows, plain)
        deltas, z, examples = raw[0]
        basis = np.concatenate([deltas, z[None]]) if z.size else deltas
        if len(basis) < deltas.shape[1] and np.linalg.cond(basis) < CONDITION:
            b, claimed = (np.linalg.lstsq(basis.T, v, rcond=None)[0] for v in (y, w @ rows))
            if not all(np.allclose(f @ basis, v, rtol=SLACK, atol=SLACK) for f, v in ((b, y), (claimed, w @ rows))):
                raise KeyError("no sum of the changes and the noise")
            M = len(deltas)
            noise = (float(sum(b[M:])), float(sum(claimed[M:])))
            yield Solved(b[:M], claimed[:M], noise, values_of(play.s.case, w, deltas, examples, x))


def values_of(case: Case, p: Array, deltas: Array, examples: Sequence[Any], x: Array) -> dict[str, Array]:
    """Return the numbers that formulas may read, one for each client, in the arithmetic of the weights."""
    said = {NUMBERS[word.name]: as_number(word.c, p) for word in delivery(case.messages) if word.name in NUMBERS}
    n, d = numbers(list(examples), p), numbers([norm(delta) for delta in deltas], p)
    found = {"p_i": p, "n_i": n, "d_i": d}
    if "c" in said:
        # No factor matters to a change of length 0.
        found["v_i"] = ratio(0 * d + said["c"], d)
        found["u_i"] = minimum(found["v_i"], 1)
        matrices = _matrices(case, deltas.shape[1])
        # A change may be 0 in these blocks alone.
        found["m_i"] = 1 / maximum(numbers([norm(delta * matrices) for delta in deltas], p) / said["c"], 1)
    if "w" in said:
        found["w_i"] = minimum(n / said["w"], 1)
    of_round = {f"S_{name[0]}": sum(v.tolist()) for name, v in found.items() if name not in ("p_i", "v_i", "m_i")}
    of_round |= {"M": len(p), "L_n": max(n.tolist()), "x": norm(x), "eta": case.hyper.get("eta", 1.0)}
    of_round |= {"two": as_number(2.0, p), "blocks": len(case.x0)}
    if "D" in said:
        of_round["most"] = maximum(0 * p + said["D"], 0 * p + of_round.get("S_w", of_round["S_n"]))
    of_round |= {"mean": norm(p @ deltas), "total": norm(deltas.sum(axis=0)), **said}
    return found | {name: 0 * p + v for name, v in of_round.items()}


def _matrices(case: Case, size: int) -> Array:
    """Indicators of the coordinates of blocks with two or more axes; all 1 if blocks don't make up a vector."""
    flags = np.concatenate([np.full(a.size, int(a.ndim > 1)) for a in case.x0.values()])
    return flags if len(flags) == size else np.ones(size, int)


def _formulas(want: Array, values: Mapping[str, Array], claimed: ast.expr | None = None) -> Iterator[ast.expr]:
    """Yield formulas of the changes' factors, the smallest first; of the claimed one, with another part.

    Small ones are made of all leaves, larger ones of a few.
    """
    slack, first = SLACK * (np.abs(want) + 1), np.random.default_rng(3).permutation(len(want))
    solvable = parts_of(claimed, want, slack, values) if claimed else [(None, want, slack)]
    parts = [part for part in solvable if np.isfinite(part[1]).all()]
    for names in ({*values} - {"two", "s", "most", "blocks"}, *GROUPS):
        rows = np.resize(first, ROWS)
        for _ in range(AGAIN):
            terms = terms_of({n: v for n, v in values.items() if n in names}, rows)
            found, missed = list[tuple[int, ast.expr]](), np.zeros(0, int)
            for at, target, bound in parts:
                for answer in smallest(terms, target[rows], bound[rows])[:TRIED]:
                    whole = swapped(claimed, at, answer.expression) if claimed and at else answer.expression
                    off = np.abs(evaluated(ast.unparse(whole), values) - want) > slack
                    if not off.any():
                        found.append((answer.size, whole))
                    missed = missed if missed.size else np.flatnonzero(off)
            yield from (whole for _, whole in sorted(found, key=lambda f: f[0]))
            if found:
                return
            if not missed.size:
                break
            # What fits these rows alone, where every change is clipped say, is told by others.
            rows = np.concatenate([np.resize(missed, FEW), rows[:-FEW]])


def _noise(z: Array, claimed: Array, values: Mapping[str, Array]) -> str | None:
    """Formula of the noise's factor: the claimed product with a few other powers, or a number; None: there is none.

    Claimed numbers are the same in all rounds, so several products may have one value: then the number is said.
    """
    there, claim = [n for n in FACTORS if n in values], {"s": 1, "c": 1, "D" if "D" in values else "M": -1}

    def with_powers(names: Sequence[str], powers: Sequence[float]) -> dict[str, float]:
        more = dict(zip(names, powers, strict=True))
        return {n: claim.get(n, 0) + more.get(n, 0) for n in dict.fromkeys((*claim, *names))}

    # A standard deviation may be taken for a variance, or the other way about.
    whole = [{n: q * by for n, q in claim.items()} for by in (2, 0.5)]
    for size in (1, 2):
        few = (with_powers(n, q) for n in combinations(there, size) for q in product(POWERS, repeat=size))
        fits = [
            _product(one, sign)
            for one in (*few, *(whole if size == 1 else ()))
            for sign in ("", "-")
            if near(float(f"{sign}1") * np.prod([values[n] ** q for n, q in one.items()], axis=0), z).all()
        ]
        if fits:
            break
    if len(fits) != 1 and np.ptp(z) <= SLACK:
        return f"{z[0]:.6g}"
    # No number is the factor then: numbers of the claim that happen to be equal cancel in the longer products.
    return min(fits, key=len, default=None)


def _product(powers: Mapping[str, float], sign: str = "") -> str:
    """Text of a product of powers."""
    of = {1: "{}", 0.5: "sqrt({})", 1.5: "{0} * sqrt({0})", 2: "{}**2"}
    above, below = (" * ".join(of[q].format(n) for n, p in powers.items() if (q := way * p) > 0) for way in (1, -1))
    many = "*" in below.replace("**", "")
    return f"{sign}{above or 1}" + (f" / ({below})" if many else f" / {below}" if below else "")


def _variant(setting: Setting, b: ast.expr | None, wanted: ast.expr | None, noise: str) -> Variant:
    """The claimed rule with another average: another factor ``b`` of the changes, or of the noise, or both."""
    size = ast.parse(noise, mode="eval").body if noise else None
    texts = {k: ast.unparse(_Ratios().visit(copied(f))) for k, f in (("b", b), ("z", size)) if f is not None}

    def take(inner: Running, event: Event, k: int) -> Any:
        x, sent, noises = model(inner.state), list[tuple[Messages, Sent]](), list[Any]()

        def deliver(there: Callable[..., Any], words: Any, m: Messages, given: Sent) -> Any:
            made = there(words, m, given)
            sent[:] = [(m, given)]
            return made

        def noisy(there: Callable[..., Any], deltas: Any, *given: Any) -> Any:
            noises[:] = [there(0 * deltas, *given)[0]]
            return deltas

        def mean(there: Callable[..., Any], p: Any, rows: Any) -> Any:
            if not sent:
                return there(p, rows)
            m, given = sent[0]
            known = values_of(inner.case, p, m.deltas, m.examples, x)
            own = {k: evaluated(text, known) + 0 * p for k, text in texts.items()}
            changes = own["b"] @ m.deltas if "b" in own else there(p, rows)
            if "z" in own:
                return changes + own["z"][0] * array(given.noise, changes)
            return sum(noises, start=changes)

        with inner.spec.behind({DELIVERED: calling(deliver), NOISY: calling(noisy), WEIGH: calling(mean)}):
            return inner.step(event)

    def said(b: ast.expr | None, noise: str) -> str:
        parts = [f"b_i = {_in_words(b)}"] if b is not None else []
        text = _in_words(ast.parse(noise, mode="eval").body) if noise else ""
        return ", ".join([*parts, *([f"noise = {f'({text})' if ' ' in text else text} z"] if noise else [])])

    divisor = "D" if any(word.startswith("divisor") for word in setting.messages) else "M"
    claimed_noise = _product({"s": 1, "c": 1, divisor: -1}) if noise else ""
    yours, theirs = said(b, noise), said(wanted, claimed_noise)
    # What is wanted is the claim's, and no equation of the rule has it.
    words = f"yours: {yours}, wanted: {theirs}" + ", in Delta = sum_i b_i Delta_i + noise" * (b is not None)
    return of_own(setting, yours, theirs, "messages", words=words, defects=(stepping("", take),))


class _Ratios(ast.NodeTransformer):
    """Lets what is divided by zero be zero: the length of no change, say."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Div) and not isinstance(node.right, ast.Constant):
            return ast.parse(f"ratio(0 * p_i + {ast.unparse(node.left)}, {ast.unparse(node.right)})", mode="eval").body
        return node


def _in_words(formula: ast.expr) -> str:
    """A formula as a person reads it."""
    for n, text in WRITTEN.items():
        formula = Put(ast.Name(n, ast.Load()), ast.parse(text, mode="eval").body).visit(copied(formula))
    return in_symbols(formula, ()).replace("delta_j", "Delta_j").replace("delta_i_matrices", "matrices of Delta_i")
