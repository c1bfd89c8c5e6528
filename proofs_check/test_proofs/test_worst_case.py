"""Worst cases of linear methods: known ones come out, certificates prove what they are filed under, others do not."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy

from fedspec.catalogue import CATALOGUE
from fedspec.plan import Message
from fedspec_proofs import ledger
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Verdict
from fedspec_proofs.engines.worst_case import certificates
from fedspec_proofs.engines.worst_case.attained import Attained, share
from fedspec_proofs.engines.worst_case.classes import Class, Function, Point, convex, smooth, strongly_convex
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, basis, form, vector
from fedspec_proofs.engines.worst_case.interpolation import Through, dot
from fedspec_proofs.engines.worst_case.open_rate import RATE
from fedspec_proofs.engines.worst_case.proof import Problem, flaw, semidefinite
from fedspec_proofs.engines.worst_case.rates import flaw_between
from fedspec_proofs.engines.worst_case.solving import prove, worst
from fedspec_proofs.engines.worst_case.values import Value, square
from fedspec_proofs.fednova.claims import noisy_round, one_round

pytestmark = pytest.mark.table(10)

ledger.claims()
CASES = [(id, case) for id, cases in certificates.CERTIFIED.items() for case, c in cases.items() if c.holds]

TENTH, ONE = Fraction(1, 10), Fraction(1)


def descent(mu: Fraction, eta: Fraction, factor: Fraction) -> Problem:
    """|x - eta grad F(x)| <= factor |x| for L = 1 and a minimiser at 0."""
    F = Function("F", strongly_convex(mu, 1))
    F.stationary(ORIGIN)
    x = basis("x")
    after = x - eta * F.at(x).g
    return Problem(square(after) - factor**2 * square(x), F.obeys())


@pytest.mark.parametrize("eta", [Fraction(1), Fraction(1, 3), Fraction(3, 2), Fraction(9, 5)])
def test_the_known_factor_of_gradient_descent_is_certified_and_no_smaller_one(eta: Fraction) -> None:
    factor = max(1 - eta * TENTH, eta - 1)
    assert not flaw(descent(TENTH, eta, factor), prove(descent(TENTH, eta, factor)))
    assert prove(descent(TENTH, eta, factor * Fraction(99, 100))) == {}


def test_the_known_factor_of_a_proximal_point_is_certified() -> None:
    """x_+ = x - eta grad F(x_+) for a mu-strongly convex F: 1 / (1 + eta mu); smooth too, at L = 1."""
    F, eta, mu = Function("F", strongly_convex(TENTH, 1)), Fraction(2), TENTH
    F.stationary(ORIGIN)
    x, g = basis("x"), basis("g")
    F.meets(x - eta * g, g)
    problem = Problem(square(x - eta * g) - square(x) / (1 + eta * mu) ** 2, F.obeys())
    assert not flaw(problem, prove(problem))
    closer = Problem(square(x - eta * g) - Fraction(99, 100) * square(x) / (1 + eta * mu) ** 2, F.obeys())
    assert prove(closer) == {}


@pytest.mark.parametrize(
    ("of", "f", "slope"),
    [
        (smooth(1), math.sin, math.cos),
        (smooth(1), lambda x: -x * x / 2, lambda x: -x),
        (convex(1), lambda x: math.sqrt(1 + x * x), lambda x: x / math.sqrt(1 + x * x)),
        (
            strongly_convex(TENTH, 1 + TENTH),
            lambda x: math.sqrt(1 + x * x) + x * x / 20,
            lambda x: x / math.sqrt(1 + x * x) + x / 10,
        ),
    ],
    ids=["sine", "cap", "root", "root and parabola"],
)
def test_functions_of_a_class_obey_its_inequalities(
    of: Class, f: Callable[[float], float], slope: Callable[[float], float]
) -> None:
    """And steeper ones do not."""
    xs = [Fraction(float(x)) for x in np.random.default_rng(0).normal(0, 2, 15)]

    def point(x: Fraction, steep: int) -> Point:
        one = Form((("1", x),))
        return Point(
            one, Form((("1", steep * Fraction(slope(float(x)))),)), Value(constant=steep * Fraction(f(float(x))))
        )

    def largest(steep: int) -> float:
        points = [point(x, steep) for x in xs]
        said = [of(p, q) for p in points for q in points if p is not q]
        return max(float(v.constant + sum(v.products.values())) for v in said)

    assert largest(1) < 1e-12
    assert largest(2) > 0.01


def test_semidefinite_is_what_eigenvalues_say() -> None:
    rng = np.random.default_rng(0)
    found = set()
    for _ in range(200):
        n = int(rng.integers(1, 5))
        A = rng.integers(-2, 3, (n, int(rng.integers(0, n + 1))))
        R = A @ A.T - (rng.integers(0, 2) * np.eye(n, dtype=int) if rng.integers(2) else 0)
        want = bool(np.linalg.eigvalsh(R).min() > -1e-9)
        found.add(want)
        assert semidefinite([[Fraction(int(c)) for c in row] for row in R]) is want
    assert found == {True, False}


@pytest.mark.parametrize("algorithm", ["fedadam", "fedamsgrad", "fedyogi", "fedadagrad"])
def test_a_method_that_is_not_linear_is_refused(algorithm: str) -> None:
    method: Any = CATALOGUE[algorithm].run
    row = CATALOGUE[algorithm]
    h = method.hyper(**{n: Fraction(1, 2) for n in row.numbers_under("round", row.defaults())})
    message = Message(delta=vector(basis("d")), examples=1, steps=1, a_norm=1)
    with pytest.raises(TypeError, match=r"worst case: the method (needs the number|multiplies)"):
        method.server(h, method.init(h, vector(basis("x"))), [message])


def test_a_number_that_depends_on_vectors_is_not_compared() -> None:
    with pytest.raises(TypeError, match="only its inner products are known"):
        assert basis("x") < 1


SOME = [pytest.param(*c, id=": ".join(c)) for c in CASES]
"""In the quick run one of four."""


@pytest.mark.table(1)
@pytest.mark.parametrize(("id", "case"), SOME)
def test_a_certificate_that_is_spoiled_proves_nothing(id: str, case: str) -> None:
    found, certificate = certificates.CERTIFIED[id][case], certificates.load(id, case)
    at = certificate.multipliers
    assert certificates.fault(found, certificate) == ""
    assert (min(at), max(at)) == (found.low, found.high)
    problem, proof = found.make(found.high), at[found.high]
    first = next(iter(proof))
    assert flaw(problem, proof) == ""
    assert flaw(problem, {**proof, first: -proof[first]}) == f"the multiplier of {first!r} is negative"
    assert "left over" in flaw(problem, {**proof, first: 2 * proof[first]})
    assert flaw(problem, {**proof, "more": ONE}) == "there is no inequality 'more'"
    assert "left over" in flaw(replace(problem, claimed=problem.claimed + 10**6 * square(basis("F0.g1"))), proof)
    assert "constant" in flaw(replace(problem, claimed=problem.claimed + 10**6), proof)


@pytest.mark.parametrize(("id", "case"), SOME)
def test_functions_that_are_built_show_how_much_is_needed(id: str, case: str) -> None:
    """With a little less of the right side they break the claim; spoiled ones are no functions of the class."""
    found, needs = certificates.CERTIFIED[id][case], certificates.load(id, case).needs
    if case == "proximal, tau = (2, 4), eta = 1/16, alpha = 1":
        pytest.skip("the program is too inexact there to be rounded to functions")
    assert needs is not None
    problem = found.make(found.high)
    if problem.relaxed:
        assert 0 < needs.most < 1 and flaw(problem.within(needs.most / 1000), needs.multipliers) != ""
        return
    assert needs.attained is not None
    attained = share(problem, needs.attained)
    assert Fraction(9, 10) * needs.most < attained <= needs.most <= 1
    less = certificates.refuted(found, needs.attained, attained * Fraction(99, 100))
    assert less.verdict is Verdict.REFUTED
    name = next(name for name in needs.attained.vectors if name.startswith("F"))
    spoiled = {**needs.attained.vectors, name: tuple(2 * c + 1 for c in needs.attained.vectors[name])}
    assert certificates.misjudged(problem, replace(needs, attained=replace(needs.attained, vectors=spoiled)))


@pytest.mark.parametrize("of", [smooth(1), convex(1), strongly_convex(TENTH, 1)], ids=["smooth", "convex", "strongly"])
def test_a_function_that_is_built_is_of_its_class_everywhere(of: Class) -> None:
    """Between and beyond the points that it was built through, in two coordinates, and it goes through those."""
    rng = np.random.default_rng(0)

    def drawn() -> tuple[Fraction, ...]:
        return tuple(Fraction(int(c), 4) for c in rng.integers(-8, 9, 2))

    # Those of a quadratic of the class, which leaves the function free between them.
    bend = (of.low + 3 * of.high) / 4
    through = [(x, tuple(bend * c for c in x), bend * dot(x, x) / 2) for x in (drawn() for _ in range(4))]
    f = Through(of, through)
    assert all(f.at(x) == (g, value) for x, g, value in through)
    asked = [(y, *f.at(y)) for y in (drawn() for _ in range(6))]
    assert any(g != tuple(bend * c for c in y) for y, g, _ in asked), "it is not that quadratic"

    def formed(v: tuple[Fraction, ...]) -> Form:
        return v[0] * basis("a") + v[1] * basis("b")

    points = [Point(formed(y), formed(g), Value(constant=value)) for y, g, value in [*asked, *through]]
    unit = Attained({"a": (ONE, 0 * ONE), "b": (0 * ONE, ONE)}, {})
    assert max(unit.of(of(p, q)) for p in points for q in points) <= 0


def parabola(at: Fraction) -> Problem:
    """<g, g> (r - 1/2)^2 >= 0 minus a little: a claim about the rate r that fails at 1/2 alone, or nowhere."""
    g = basis("g")
    return Problem((at * at - at + Fraction(1, 4)) * square(g) * -1 + Fraction(1, 100) * square(g), {})


def test_what_holds_at_the_ends_need_not_hold_between() -> None:
    assert all(flaw(parabola(r), {}) == "" for r in (Fraction(0), Fraction(1)))
    assert flaw(parabola(Fraction(1, 2)), {}) != ""
    between = "between the rates 0 and 1: a matrix that is left over is not positive semidefinite"
    assert flaw_between(parabola(RATE), {Fraction(0): {}, Fraction(1): {}}) == between
    assert flaw_between(parabola(RATE), {Fraction(0): {}, Fraction(1, 4): {}}) == ""


def test_a_rate_that_is_left_open_is_not_compared() -> None:
    assert basis("x") * RATE / RATE == basis("x")
    with pytest.raises(TypeError, match="depends on the rate"):
        assert form({}, RATE) < 1
    with pytest.raises(TypeError, match="no polynomial in the rate"):
        flaw_between(Problem(square(basis("x")) / RATE, {}), {ONE: {}, 2 * ONE: {}})


def test_rates_between_the_ends_are_certified_one_by_one_too() -> None:
    """By mixing the multipliers of the neighbours, checked at the mixed rate alone."""
    id, case = next(iter(CASES))
    found, at = certificates.CERTIFIED[id][case], certificates.load(id, case).multipliers
    for (low, first), (high, last) in pairwise(at.items()):
        for s in (Fraction(1, 7), Fraction(1, 2), Fraction(9, 10)):
            mixed = {n: (1 - s) * first.get(n, 0 * ONE) + s * last.get(n, 0 * ONE) for n in {**first, **last}}
            assert flaw(found.make(low + s * (high - low)), mixed) == ""


@pytest.mark.parametrize("sizes", one_round.SCHEDULES[:3], ids=str)
def test_what_a_certificate_says_by_another_route(sizes: one_round.Sizes) -> None:
    """The round on symbols instead of forms, in one coordinate, and the inequality of smooth functions typed again."""
    asked: list[dict[Any, Any]] = [{} for _ in sizes.steps]
    x = sympy.Symbol("x")

    def oracle(i: int) -> Any:
        def at(k: int, y: Any) -> Any:
            y = np.array([sympy.expand(y[0])], dtype=object)
            g, _ = asked[i].setdefault(y[0], sympy.symbols(f"g{i}_{len(asked[i])} f{i}_{len(asked[i])}"))
            return np.array([g], dtype=object)

        return at

    s = sizes.setting()
    plan = one_round.Plan(tuple(range(len(sizes.steps))), sizes.steps, s.examples)
    clients = [oracle(i) for i in range(len(sizes.steps))]
    method = s.method
    trace = one_round.run_round(
        s.h, np.array([x], dtype=object), clients, plan, local=method.local, norm=method.norm, server=method.server
    )
    (end,) = trace.state
    for client in clients:
        client(0, np.array([end], dtype=object))
    end = sympy.expand(end)
    w, tau_eff = trace.values["w"], trace.values["tau_eff"]
    before = [points[x] for points in asked]
    after = [points[end] for points in asked]
    slope = sum(w_i * g for w_i, (g, _) in zip(w, before, strict=True))
    eta = sympy.Rational(sizes.eta)
    a = [sum([1] * tau) for tau in sizes.steps]
    C = max(a_i * (a_i - 1) for a_i in a)
    claimed = sum(w_i * (f - e) for w_i, (_, f), (_, e) in zip(w, after, before, strict=True))
    claimed += eta * tau_eff * (slope**2 / 4 - 3 * eta**2 * C)
    total = -claimed
    stored = certificates.load("fednova.eq-91-certified", one_round.words(sizes, Fraction(1, 2)))
    for name, c in stored.multipliers[Fraction(sizes.eta)].items():
        if name == "dissimilar":
            q = sum(w_i * g**2 for w_i, (g, _) in zip(w, before, strict=True)) - sympy.Rational(3, 2) * slope**2 - 1
        else:
            function, pair = name.split()
            points = [*asked[int(function[1:])].items()]
            (xi, (gi, fi)), (xj, (gj, fj)) = (points[int(k)] for k in pair.split(","))
            q = fj - fi + (gi + gj) * (xi - xj) / 2 + (gi - gj) ** 2 / 4 - (xi - xj) ** 2 / 4
        total += sympy.Rational(c.numerator, c.denominator) * q
    total = sympy.expand(total)
    values = [f for points in asked for _, f in points.values()]
    assert not total.free_symbols & set(values)
    vectors = [x, *(g for points in asked for g, _ in points.values())]
    assert total.subs(dict.fromkeys(vectors, 0)) >= 0
    assert sympy.hessian(total, vectors).is_positive_semidefinite


DROPPED = [(id, case) for id, case in CASES if certificates.CERTIFIED[id][case].drop]


@pytest.mark.parametrize(("id", "case"), DROPPED, ids=[f"{id}: {case}" for id, case in DROPPED])
def test_every_term_of_a_certified_bound_is_left_out_in_turn(id: str, case: str) -> None:
    """Functions that break the claim without a term do not break it as it stands, nor without another one."""
    found, lacking = certificates.CERTIFIED[id][case], certificates.load(id, case).lacking
    problem = found.make(found.high)
    assert set(lacking) == set(problem.terms) and len(lacking) > 1
    for term, one in lacking.items():
        assert certificates.noticeable(problem.lacking(term), one)[0] == isinstance(one, Attained)
        if isinstance(one, Attained):
            assert share(problem, one) <= 1
        elif one:
            assert flaw(problem.lacking(term), one) == ""


def test_what_is_tight_is_not_when_its_right_side_is_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is read off the functions that are stored, not written down."""
    id = "fednova.scaffold-contracts"
    tight = ledger.find(id)
    assert run_evidence(tight).verdict is Verdict.TIGHT
    wider = {
        name: replace(case, make=lambda eta, make=case.make: make(eta).within(Fraction(2)))
        for name, case in certificates.CERTIFIED[id].items()
    }
    monkeypatch.setattr(certificates, "CERTIFIED", dict(certificates.CERTIFIED))
    assert certificates.certified(id, wider, dict)().verdict is Verdict.CERTIFIED


def test_a_rule_that_breaks_the_claim_is_not_certified(monkeypatch: pytest.MonkeyPatch) -> None:
    """The multipliers are put to the rule as it is; to a slightly longer step they may apply as well."""
    id = "fednova.eq-91-fedprox"
    assert run_evidence(ledger.find(id)).verdict is Verdict.CERTIFIED
    method: Any = CATALOGUE["fednova"].run
    server = method.server

    def farther(h: Any, x: Any, messages: Any) -> Any:
        after, values = server(h, x, messages)
        return x - (after - x), values

    changed = replace(CATALOGUE["fednova"], run=replace(method, server=farther))
    monkeypatch.setitem(CATALOGUE, "fednova", changed)
    assert run_evidence(ledger.find(id)).verdict is Verdict.UNKNOWN


@pytest.mark.table(1)
def test_a_constant_that_is_too_small_is_not_certified() -> None:
    """At these sizes one fiftieth of C would do for the worst functions, a hundredth would not."""
    sizes = next(s for s in one_round.SCHEDULES if s.steps == (3, 3))
    assert prove(one_round.problem_of(sizes, part=Fraction(1, 50)))
    short = one_round.problem_of(sizes, part=Fraction(1, 100))
    assert worst(short).value > 0 and prove(short) == {}


def test_a_round_with_noise_needs_what_is_said_of_the_noise() -> None:
    """Noise of any size, noise that goes with earlier noise or with the gradient it is added to, no term for it."""
    sizes = one_round.SCHEDULES[0]
    short = noisy_round.problem_of(sizes, one_round.printed, Fraction(sizes.eta)).within(Fraction(2, 5))
    assert worst(short).value < 1e-7
    for left_out in ("variance of F0.noise0", "F0.noise1, F0.noise0", "F0.noise0, F0.g0"):
        given = {name: q for name, q in short.given.items() if not name.startswith(left_out)}
        assert len(given) < len(short.given)
        assert worst(replace(short, given=given)).value > 1e-5, left_out
    claimed = short.claimed + short.right.products["sigma", "sigma"] * noisy_round.SIGMA2
    assert worst(replace(short, claimed=claimed)).value > 1e-5


def test_pepit_finds_the_same_worst_case() -> None:
    """Worst case of gradient descent, from |x - x*| <= 1."""
    from PEPit import PEP
    from PEPit.functions import SmoothStronglyConvexFunction

    p = PEP()
    f = p.declare_function(SmoothStronglyConvexFunction, mu=0.1, L=1)
    there, x = f.stationary_point(), p.set_initial_point()
    p.set_initial_condition((x - there) ** 2 <= 1)
    p.set_performance_metric((x - 1.5 * f.gradient(x) - there) ** 2)
    F = Function("F", strongly_convex(TENTH, 1))
    F.stationary(ORIGIN)
    y = basis("x")
    ours = worst(Problem(square(y - Fraction(3, 2) * F.at(y).g), {**F.obeys(), "start": square(y) - 1}))
    assert ours.value == pytest.approx(p.solve(verbose=0, solver="CLARABEL"), rel=1e-6)


@pytest.mark.parametrize("sizes", one_round.SCHEDULES[:4], ids=str)
def test_pepit_finds_the_same_slack_of_a_round(sizes: one_round.Sizes) -> None:
    # Importing it takes longer than collecting all tests of this folder.
    from PEPit import PEP
    from PEPit.functions import SmoothFunction

    p, eta = PEP(), float(Fraction(sizes.eta))
    functions = [p.declare_function(SmoothFunction, L=1) for _ in sizes.steps]
    x = p.set_initial_point()
    end = 0 * x
    for f, tau in zip(functions, sizes.steps, strict=True):
        y = x
        for _ in range(tau):
            y = y - eta * f.gradient(y)
        end = end + y / len(functions)
    # Plain averaging is FedNova with w_i proportional to tau_i.
    w = [tau / sum(sizes.steps) for tau in sizes.steps]
    mean = sum((w_i * f for w_i, f in zip(w[1:], functions[1:], strict=True)), w[0] * functions[0])
    slope = mean.gradient(x)
    p.set_initial_condition(
        sum(w_i * f.gradient(x) ** 2 for w_i, f in zip(w, functions, strict=True)) <= 1.5 * slope**2 + 1
    )
    tau_eff, C = sum(sizes.steps) / len(functions), max(t * (t - 1) for t in sizes.steps)
    p.set_performance_metric(mean(end) - mean(x) + eta * tau_eff * (slope**2 / 4 - 3 * eta**2 * C))
    theirs = p.solve(verbose=0, solver="CLARABEL")
    assert worst(one_round.problem_of(sizes)).value == pytest.approx(theirs, abs=1e-6)


def test_what_is_stored_is_what_the_ledger_asks_for() -> None:
    stored = json.loads(certificates.PATH.read_text(encoding="utf-8"))
    assert set(stored) == set(certificates.CERTIFIED)


def test_saving_some_keeps_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    id, case = CASES[0]
    found = certificates.load(id, case)
    of_another = {"somebody.else": {"a case": {"multipliers": {}}}}
    monkeypatch.setattr(certificates, "PATH", tmp_path / "certificates.json")
    certificates.PATH.write_text(json.dumps({}), encoding="utf-8")
    certificates._stored.cache_clear()
    try:
        assert certificates._stored() == {}
        certificates.PATH.write_text(json.dumps(of_another), encoding="utf-8")
        certificates.save({id: {case: found}})
        stored = json.loads(certificates.PATH.read_text(encoding="utf-8"))
        assert set(stored) == {id, "somebody.else"} and certificates.load(id, case) == found
        assert [p.name for p in tmp_path.iterdir()] == ["certificates.json"]
    finally:
        certificates._stored.cache_clear()
