"""Notes below equations: symbols used in several rows, symbols with a fixed value, and the weights p_i."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from types import CodeType, FrameType
from typing import Any

from fedspec.catalogue import Algorithm
from fedspec.contract import Offer
from fedspec.domains import DOMAINS
from fedspec.facts import Fact
from fedspec.reference import session_of
from fedspec.rules import RULES, Equation, printed
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import setting_of


def notes(
    a: Algorithm,
    equations: Iterable[Equation],
    options: Mapping[str, str] | None = None,
    levels: Collection[str] = (),
) -> Iterator[str]:
    """Yield the notes below the equations of a row, for the given options, or for all options that apply."""
    listed = tuple(equations)
    levels = levels or a.levels
    numbers = a.numbers if options is None else a.numbers_under(a.levels[-1], options)
    text = " ; ".join(e.text for e in listed)
    read = {*re.findall(r"[A-Za-z_]\w*", text)}
    ids = {e.id for e in listed}
    # Whatever an equation of the row defines, it needs no note, and is another thing than a note would say.
    left = read - {m[1] for e in listed if (m := re.match(r"(\w+) =", e.text))}
    if pinned := _pinned(a, listed):
        said = " and ".join(f"{n} = {value}" for n, value in pinned.items())
        yield f"where an equation has it: {said}, here no hyper-parameter"
    shared = [
        f"{n} is {own}" for n, own in (("eps", "tau"), ("v_hat", "v")) if n in read and _stands_for(a, n, own, text)
    ]
    if shared:
        yield f"in an equation that other algorithms have too, {', '.join(shared)} here"
    if "p_i" in left and "sampled_weights" in a.options:
        yield "p_i = n_i / the sum over all m clients, those that were not drawn too; q: how many were drawn"
    elif "p_i" in left and "weights" not in a.options and (said := weighing(a, options)):
        yield said
    if "Delta_i" in left:
        yield "Delta_i: the change of client i in the round, its last model minus the one it began with"
    if theirs := [n for n in numbers if n.endswith("_l") and n != "eta_l"]:
        said = ", ".join(f"{n.removesuffix('_l')} is {n}" for n in theirs)
        yield f"in the clients' equations {said}"
    if "q_i" in left and "scaffold.c" in ids and "weights" in a.options:
        yield (
            "q_i = 1 / N, or n_i / n of all N clients where clients weigh by examples, those that sit out too; "
            "p_i is of those that take part"
        )
    if "w_i" in left:
        yield "w_i is p_i here"
    if "tau_eff" in a.shows and "server" in levels:
        yield "at level server eta_l is not told, and counts as 1 in these equations"
    if "alpha" in left and {"eta_l", "mu"} <= {*a.numbers}:
        yield "alpha = eta_l mu; ||a_i||_1 is the plain sum of the entries of a_i, negative ones too"
    if "y_(n+1)" in text:
        yield "y_0 = 0, y_1 = 1"
    if "reach_i" in left:
        yield "reach_i: the sum of client i's row of W over the senders, who hold the server's model themselves"
    if "ratio(" in text:
        yield "ratio(a, b) = a / b, and 0 where both are 0"
    if "q / ||q||" in text and a.has(Fact.LAYERED):
        yield "q / ||q|| is 0 where q = 0"
    if "eps_s" in a.numbers and "sgd.step" in ids:
        yield "sgd.step is not taken where ||g|| < eps_s either"
    if "Delta_(" in text and (a.has(Fact.ORDERED) or a.has(Fact.ELECTING)):
        yield "Delta_(k): the k-th smallest of the clients' numbers in a coordinate, from k = 1; M: how many there are"
    if "dp.delta" in ids:
        yield "in dp.delta z is the noise that the event says, and c is clip_norm"
    if "qsgd.xi" in ids:
        yield "in qsgd.xi u are the draws that the event says, s is levels, and 0/0 = 0 in qsgd.a"
    if "fedasync.mix_t" in ids:
        alone = "" if "mix" in a.numbers else "mix = 1, and every delta_i is multiplied by its mix_t; "
        yield f"{alone}u: how many versions late an update is{'; one more with age = literal' * ('age' in a.options)}"
    if "fadas.eta_t" in ids:
        yield "eta is eta_t in fedamsgrad.step; tau_max is the largest delay in the buffer"
    if "client" in levels and "epoch" not in a.numbers and re.search(r"\^t\b", text):
        yield "t = 1 at the first step of a round"
    elif "server" in levels and re.search(r"\^t\b", text):
        yield "t = 1 in the first round"
    if "client" in levels and "if k = 0" in text:
        yield "k = 0 at the first step of a round"
    if "anchor" in left:
        yield "anchor: the model at which the local steps began"
    if "||q||" in text and a.has(Fact.LAYERED):
        yield "x and q are those of one layer, and a layer is a block of x0"
    if "epoch" in a.numbers:
        yield (
            "t = 1 at the first step of a round; where epoch > 1, for `(t - 1)/z is whole` read "
            "((t - 1) // epoch) % z is 0"
        )
    if "floor((t - 1)/z)" in text:
        yield "floor((t - 1)/z) + 1 is how many updates were made; where epoch > 1 it is that number still"
    if "warm_up" in numbers:
        rises = {"first-step": "k", "zero": "(k - 1)"}[(options or a.defaults())["warm_up_from"]]
        other = "" if options else "; with warm_up_from = zero, k - 1 in the place of k"
        yield f"a client's eta_l is that of the warm-up, eta_l min(1, {rises} / warm_up) in its step k{other}"
    if a.served and "server" in levels:
        yield "N: the number of all clients, `case.population` at level server"


def _stands_for(a: Algorithm, name: str, own: str, text: str) -> bool:
    """True if a name of a shared equation is none of the row's, which calls it otherwise."""
    known = {*a.numbers, *a.shows}
    return name not in known and own in known and not re.search(rf"(?:^|; ){name} =", text)


def _pinned(a: Algorithm, equations: Iterable[Equation]) -> dict[str, str]:
    """Symbols of the equations without a hyper-parameter, with the value that the rules take."""
    found = {}
    for e in equations:
        given = inspect.signature(RULES[e.rule]).parameters if e.rule in RULES else {}
        for n in re.findall(r"[A-Za-z_]\w*", e.text):
            if n in DOMAINS and n not in a.numbers and n in given and given[n].default is not inspect.Parameter.empty:
                found[n] = str(given[n].default)
    return found


ALIKE = "p_i = 1 / the number of the changes that are averaged"
BY_EXAMPLES = "p_i = n_i / the sum of the n_j of those that take part"


def weighing(a: Algorithm, options: Mapping[str, str] | None = None) -> str:
    """Describe the weights p_i that the rules receive in a small run; empty if they match neither usual form.

    Its specification takes the events of the plain case, in which two clients of 3 and 1 examples take 2 and 4 steps.
    """
    seen: list[tuple[float, ...]] = []
    try:
        reading = a.readings[0].name
        scenario = plain_scenario(setting_of(Offer(a.id, a.levels[-1], reading, dict(options or {}))))
        session = session_of(a, a.levels[-1])(a, scenario.case)
        before = sys.getprofile()
        sys.setprofile(_looking(_weighers(), seen))
        try:
            for event in scenario.events:
                session.step(event)
        finally:
            sys.setprofile(before)
    except Exception:
        # Somebody's own text may fail in any way; a page about it is no place to say so, and its verdict does.
        return ""
    problem = scenario.case.problem
    n = () if problem is None else tuple(map(float, problem.examples))
    if not any(len(p) > 1 for p in seen):
        return ""
    if all(p == (1 / len(p),) * len(p) for p in seen):
        return ALIKE
    if all(p == (1.0,) or p == tuple(n_i / sum(n) for n_i in n) for p in seen):
        return BY_EXAMPLES
    return ""


def _weighers() -> set[CodeType]:
    """The texts of the rules that are given weights p and print p_i."""
    return {
        inspect.unwrap(rule).__code__
        for rule in RULES.values()
        if "p" in (given := inspect.signature(rule).parameters)
        and "Weights" in str(given["p"].annotation)
        and any("p_i" in e.text for e in printed(rule))
    }


def _looking(codes: set[CodeType], seen: list[tuple[float, ...]]) -> Any:
    def look(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in codes:
            seen.append(tuple(map(float, frame.f_locals["p"].tolist())))

    return look
