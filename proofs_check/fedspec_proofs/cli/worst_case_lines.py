"""Output lines of ``fedspec worst-case``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from fedspec.entry import Algorithm
from fedspec_proofs.report import worst_case_chart
from fedspec_proofs.report.worst_case_chart import decimal
from fedspec_suite.report import terminal

Words = tuple[tuple[str, ...], ...]
"""A matrix with entries such as ``"1/4"``."""


def falling(row: Algorithm, asked: Any, certified: Callable[[Any], Any], **about: Any) -> dict[str, Any]:
    """Find and certify a quadratic Lyapunov function; return it as ``--json`` prints it, with ``about``."""
    with terminal.spinner() as said:
        said(f"{row.id}: looking for a form that falls")
        found = certified(asked)
    return {
        "algorithm": row.id,
        **about,
        "mu": asked.mu,
        "factor": str(found.bound),
        "form": [[str(c) for c in line] for line in found.round.P],
        "multipliers": in_words(found.proof),
    }


def in_words(numbers: Mapping[str, Fraction]) -> dict[str, str]:
    """Numbers by name as text, as ``--json`` prints them."""
    return {n: str(c) for n, c in numbers.items()}


def others(numbers: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    """Hyper-parameters other than the local rate, as text."""
    return tuple((n, str(c)) for n, c in numbers.items() if n != "eta_l")


def about(told: dict[str, Any], but: str = "") -> str:
    """Describe the analysis: algorithm, steps and hyper-parameters, without the one named ``but``."""
    rest = {n: f"{n} = {c}" for n, c in told["numbers"].items() if n != but}
    usual_ = ", ".join(text for n, text in rest.items() if n in told["usual"])
    numbers = "".join(f", {text}" for n, text in rest.items() if n not in told["usual"])
    numbers += f" ({usual_} as usual)" if usual_ else ""
    convexity = "strong convexity" if "mu" in rest else "mu"
    mixed = f", W = ({'; '.join(', '.join(line) for line in told['mixing'])})" if "mixing" in told else ""
    mixed += f", W in [{', '.join(told['eigenvalues'])}]" if "eigenvalues" in told else ""
    mixed += f", changes {told['delay']} versions old" if "delay" in told else ""
    mixed += f", alpha = {told['alpha']}" if "alpha" in told else ""
    who = f"clients {told['clients']}" if "clients" in told else ""
    who = who or f"steps {', '.join(map(str, told['steps'][:1] if 'mixing' in told else told['steps']))}"
    return f"{told['algorithm']}, {who}{mixed}{numbers}; L = 1, {convexity} = {told['mu']}"


CHECKED = "proved: multipliers checked in fractions against the rule (--json has them)"


def rates(told: list[dict[str, Any]]) -> list[str]:
    """Output lines for several rates, and the best of them."""
    one = told[0]
    falls = "factor" in one
    what = "factor" if falls else "|x - x*|^2 <="
    numbers = [worst_case_chart.proved(t) for t in told]
    name = worst_case_chart.rate_name(one)
    tried = [t["numbers"][name] for t in told]
    wide = max(len(name), *map(len, tried))
    best = min(range(len(told)), key=lambda k: numbers[k])
    zeta = "any zeta" if falls else f"zeta^2 = {one['zeta2']}, rounds: {one['rounds']}"
    return [
        f"{about(one, name)}, {zeta}",
        f"{name:{wide}}  {what}",
        *(f"{rate:{wide}}  {decimal(number)}" for rate, number in zip(tried, numbers, strict=True)),
        CHECKED,
        f"least of these: {decimal(numbers[best])}, at {name} = {tried[best]}",
    ]


def lines(told: dict[str, Any]) -> list[str]:
    """Output lines for one rate."""
    begun = about(told)
    if "factor" in told:
        form = "; ".join(", ".join(line) for line in told["form"])
        event = "round after the first" if "alpha" in told else "round"
        return [
            f"{begun}, any zeta",
            f"a quadratic form falls by the factor {float(Fraction(told['factor'])):.3f} in every {event}, or faster"
            if Fraction(told["factor"]) < 1
            else f"no quadratic form was found that falls: the least factor is {float(Fraction(told['factor'])):.3f}",
            f"its matrix, in {told.get('state', 'x - x* and all c_i - grad F_i(x*)')}: {form}",
            CHECKED,
        ]
    zeta, R = Fraction(told["zeta2"]), told["rounds"]
    after = f"after {R} rounds" if R > 1 else "after a round"
    mean = "mean " if "mixing" in told else ""
    lines = [
        f"{begun}, zeta^2 = {zeta}",
        f"from |x - x*| <= 1, {after}: {mean}|x - x*|^2 <= {decimal(told['bound'])}",
        CHECKED,
    ]
    if told["reached"]:
        d = len(next(iter(told["functions"].values())))
        # Down, to a thousandth or in the third digit: what is said is reached.
        reached = Fraction(told["reached"])
        unit = min(Fraction(1, 1000), Fraction(10) ** (math.floor(math.log10(reached)) - 2))
        dimensions = f"{d} dimension{'s' * (d > 1)}"
        most = decimal(reached // unit * unit)
        lines.append(f"reached: more than {most}, in {dimensions}, by functions that the rule was run on")
    else:
        lines.append(f"not reached: the program attains {told['program']:.4g}, its functions could not be rounded")
    return lines
