"""The command ``fedspec worst-case``: how far rounds may end from the minimiser, certified, if they are linear."""

from __future__ import annotations

import importlib
import math
import time
import warnings
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import find
from fedspec.entry import Algorithm
from fedspec.errors import FedspecError, ParameterError, to_install
from fedspec.usual import usual
from fedspec_suite import cli_coefficients, cli_mixing, cli_outer
from fedspec_suite.cli_settings import assigned
from fedspec_suite.report import terminal, worst_case_chart
from fedspec_suite.report.terminal import Json

FRACTION = "a fraction such as 1/4 or 0.25"


def mount(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("worst-case", epilog="Exit code: 0 a certified number, 2 none, or a usage error.")
    def worst_case(
        algorithm: Annotated[str, typer.Argument(metavar="ALGORITHM", help="Its id, or that of an own one.")],
        steps: Annotated[
            str, typer.Option(help="Local steps of each client: one number for each; of peers one for all.")
        ] = "2,2",
        eta_l: Annotated[
            str, typer.Option(help="Their rate, in units of 1/L; of several, such as 1/8,1/4,1/2, the best is said.")
        ] = "1/4",
        setting: Annotated[
            list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Another hyper-parameter; repeatable.")
        ] = None,
        mu: Annotated[str, typer.Option(help="Strong convexity of every client, in units of L.")] = "1/10",
        zeta: Annotated[
            str, typer.Option(help="Root of the clients' mean squared gradient at x*, in units of L |x - x*|.")
        ] = "0",
        rounds: Annotated[int, typer.Option(min=1, help="How many rounds, from the algorithm's own beginning.")] = 1,
        lyapunov: Annotated[
            bool,
            typer.Option("--lyapunov", help="The factor of a quadratic form that falls in every round, for any zeta."),
        ] = False,
        mixing: Annotated[
            str,
            typer.Option(
                metavar="ROW;...",
                help="The matrix by which peers mix; one row alone is a ring's, such as 1/2,1/4,0,1/4.",
            ),
        ] = "",
        delay: Annotated[int, typer.Option(min=0, help="How many versions old changes are, where they come late.")] = 0,
        coefficients: Annotated[
            str,
            typer.Option(
                metavar="best|W,...",
                help="The server's coefficients where steps differ, one for each number of steps; or the best.",
            ),
        ] = "",
        chart: Annotated[
            Path | None,
            typer.Option(metavar="PATH", help="Draw what is proved against the rate: a .svg, .png or .pdf."),
        ] = None,
        as_json: Json = False,
    ) -> None:
        """How far from the minimiser x* may rounds end that begin at most 1 away from it, whatever the clients?

        Clients are any mu-strongly convex functions with L-Lipschitz gradients, in any dimension, L = 1; all take part,
        with equal weights. Of peers it is the mean over all. The algorithm's own functions are run on linear forms. A
        semidefinite program finds the worst functions, and multipliers that prove that there are none worse, which are
        checked in fractions.
        """
        missing = [module for module in ("fedspec_proofs", "cvxpy", "clarabel") if find_spec(module) is None]
        if missing:
            raise FedspecError(f"worst-case: it needs {' and '.join(missing)}; {to_install('certify,proofs')}")
        row = find(algorithm)
        numbers = {
            n: v for n, (v, _) in assigned("--set", setting or [], [row], lambda t: _said(row, t))[row.id].items()
        }
        unsaid = {} if lyapunov else {n: Fraction(str(v)) for n, v in usual(row, given=numbers).items() if n != "eta_l"}
        rates = [_fraction("--eta-l", rate) for rate in eta_l.split(",")]
        own = "eta_l" not in row.numbers
        if own and len(rates) > 1:
            raise ParameterError(f"--eta-l {eta_l}: {row.id} has no eta_l; say its rate by --set")
        W = cli_mixing.matrix(mixing)
        counts = cli_mixing.of_all(_counts(steps), W)
        drawing = worst_case_chart.drawing(chart)
        # What a solver doubts is rounded and then checked, or not taken.
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        if coefficients:
            cli_mixing.refuse(W)
            cli_coefficients.refuse(row, numbers, rates, rounds, lyapunov)
            other = (_fraction("--mu", mu), _fraction("--zeta", zeta) ** 2)
            one = cli_coefficients.told(row, counts, rates[0], coefficients, *other)
            terminal.emit([one]) if as_json else _print(cli_coefficients.lines(one))
            return
        more: dict[str, Any] = {"mu": _fraction("--mu", mu), "zeta2": _fraction("--zeta", zeta) ** 2, "rounds": rounds}
        cli_outer.refuse(row, delay, lyapunov)
        told = []
        for rate in rates:
            begun, at = time.monotonic(), {**numbers, **unsaid, **({} if own else {"eta_l": rate})}
            told.append((_factor if lyapunov else _distance)(row, counts, at, {**more, "mixing": W, "delay": delay}))
            told[-1]["usual"] = sorted(told[-1].pop("unsaid", unsaid))
            told[-1]["seconds"] = round(time.monotonic() - begun, 1)
        if drawing:
            drawing(told)
        if as_json:
            terminal.emit(told)
            return
        _print(_lines(told[0]) if len(told) == 1 else _rates(told))


def _print(lines: list[str]) -> None:
    console = terminal.console()
    for line in lines:
        console.print(line, highlight=False, markup=False)


def _fraction(option: str, text: str) -> Fraction:
    try:
        found = Fraction(text)
    except (ValueError, ZeroDivisionError) as error:
        raise ParameterError(f"{option} {text}: expected {FRACTION}") from error
    if found < 0:
        raise ParameterError(f"{option} {text}: expected {FRACTION}, not below 0")
    return found


def _said(row: Algorithm, text: str) -> Fraction | str:
    """A number, or the value of an option."""
    words = {str(value) for kind in row.options.values() for value in kind}
    return text if text in words else _fraction("--set", text)


def _counts(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and int(word) for word in words):
        raise ParameterError(f"--steps {text}: expected the local steps of each client, such as 2,2 or 1,3")
    return tuple(map(int, words))


def _distance(
    row: Algorithm, steps: tuple[int, ...], numbers: dict[str, Fraction], more: dict[str, Any]
) -> dict[str, Any]:
    any_rounds = importlib.import_module("fedspec_proofs.any_rounds")
    more = {n: v for n, v in more.items() if v or n not in ("mixing", "delay")}
    with terminal.spinner() as said:
        said(f"{row.id}: looking for the worst clients")
        found = any_rounds.worst_case(any_rounds.Rounds(row, steps, numbers, **more))
    vectors = found.attained.vectors if found.attained else {}
    return {
        "algorithm": row.id,
        "steps": steps,
        "numbers": {n: str(c) for n, c in numbers.items()},
        **{n: str(c) if isinstance(c, Fraction) else c for n, c in more.items()},
        "bound": str(found.bound),
        "reached": None if found.reached is None else str(found.reached),
        "program": found.worst,
        "multipliers": {n: str(c) for n, c in found.proof.items()},
        "functions": {n: [str(c) for c in v] for n, v in vectors.items()},
    }


def _factor(
    row: Algorithm, steps: tuple[int, ...], numbers: dict[str, Fraction], more: dict[str, Any]
) -> dict[str, Any]:
    if more["mixing"]:
        return cli_mixing.factor(row, more["mixing"], steps, numbers, more["mu"])
    if cli_outer.is_outer(row):
        return cli_outer.factor(row, steps, numbers, more["mu"], more["delay"])
    contraction, search = (
        importlib.import_module(f"fedspec_proofs.{n}") for n in ("contraction", "contraction_search")
    )
    if row.id not in contraction.HELD:
        raise ParameterError(
            f"worst-case --lyapunov: {row.id} is none of {', '.join(contraction.HELD)}, whose clients keep a vector "
            f"that comes to stand for their gradient, and no server of momentum or of late changes; leave it out"
        )
    numbers = {n: Fraction(c) for n, c in contraction.OTHERS[row.id].items()} | numbers
    others = tuple((n, str(c)) for n, c in numbers.items() if n != "eta_l")
    with terminal.spinner() as said:
        said(f"{row.id}: looking for a form that falls")
        rate = str(numbers["eta_l"])
        found = search.certified(contraction.Round(row.id, steps, rate, mu=str(more["mu"]), numbers=others))
    return {
        "algorithm": row.id,
        "steps": steps,
        "numbers": {n: str(c) for n, c in numbers.items()},
        "mu": str(more["mu"]),
        "factor": str(found.bound),
        "form": [list(line) for line in found.round.form],
        "multipliers": {n: str(c) for n, c in found.proof.items()},
    }


def _about(told: dict[str, Any], but: str = "") -> str:
    others = {n: f"{n} = {c}" for n, c in told["numbers"].items() if n != but}
    usual_ = ", ".join(text for n, text in others.items() if n in told["usual"])
    numbers = "".join(f", {text}" for n, text in others.items() if n not in told["usual"])
    numbers += f" ({usual_} as usual)" if usual_ else ""
    convexity = "strong convexity" if "mu" in others else "mu"
    mixed = f", W = ({'; '.join(', '.join(line) for line in told['mixing'])})" if "mixing" in told else ""
    mixed += f", changes {told['delay']} versions old" if "delay" in told else ""
    steps = ", ".join(map(str, told["steps"][:1] if "mixing" in told else told["steps"]))
    return f"{told['algorithm']}, steps {steps}{mixed}{numbers}; L = 1, {convexity} = {told['mu']}"


CHECKED = "proved: multipliers checked in fractions against the rule (--json has them)"


def _rates(told: list[dict[str, Any]]) -> list[str]:
    """A line for each rate, and the best of them."""
    one = told[0]
    falls = "factor" in one
    what = "factor" if falls else "|x - x*|^2 <="
    numbers = [worst_case_chart.proved(t) for t in told]
    rates = [t["numbers"]["eta_l"] for t in told]
    wide = max(len("eta_l"), *map(len, rates))
    best = min(range(len(told)), key=lambda k: numbers[k])
    zeta = "any zeta" if falls else f"zeta^2 = {one['zeta2']}, rounds: {one['rounds']}"
    return [
        f"{_about(one, 'eta_l')}, {zeta}",
        f"{'eta_l':{wide}}  {what}",
        *(f"{rate:{wide}}  {float(number):.4g}" for rate, number in zip(rates, numbers, strict=True)),
        CHECKED,
        f"least of these: {float(numbers[best]):.4g}, at eta_l = {rates[best]}",
    ]


def _lines(told: dict[str, Any]) -> list[str]:
    about, checked = _about(told), CHECKED
    if "factor" in told:
        form = "; ".join(", ".join(line) for line in told["form"])
        return [
            f"{about}, any zeta",
            f"a quadratic form falls by the factor {float(Fraction(told['factor'])):.3f} in every round, or faster"
            if Fraction(told["factor"]) < 1
            else f"no quadratic form was found that falls: the least factor is {float(Fraction(told['factor'])):.3f}",
            f"its matrix, in {told.get('state', 'x - x* and all c_i - grad F_i(x*)')}: {form}",
            checked,
        ]
    zeta, R = Fraction(told["zeta2"]), told["rounds"]
    after = f"after {R} rounds" if R > 1 else "after a round"
    mean = "mean " if "mixing" in told else ""
    lines = [
        f"{about}, zeta^2 = {zeta}",
        f"from |x - x*| <= 1, {after}: {mean}|x - x*|^2 <= {float(Fraction(told['bound'])):.4g}",
        checked,
    ]
    if told["reached"]:
        d = len(next(iter(told["functions"].values())))
        # Down, in the third digit: what is said is reached.
        reached = Fraction(told["reached"])
        unit = Fraction(10) ** (math.floor(math.log10(reached)) - 2)
        most = float(reached // unit * unit)
        dimensions = f"{d} dimension{'s' * (d > 1)}"
        lines.append(f"reached: more than {most:.4g}, in {dimensions}, by functions that the rule was run on")
    else:
        lines.append(f"not reached: the program attains {told['program']:.4g}, its functions could not be rounded")
    return lines
