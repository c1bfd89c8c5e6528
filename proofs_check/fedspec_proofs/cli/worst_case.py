"""The command ``fedspec worst-case``: certified largest distance from the minimiser after linear rounds."""

from __future__ import annotations

import time
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import find
from fedspec.entry import Algorithm
from fedspec.errors import FedspecError, ParameterError, to_install
from fedspec.usual import usual
from fedspec_proofs.cli import unread_options, worst_coefficients, worst_forms
from fedspec_proofs.cli.worst_case_lines import Words, falling, in_words, lines, others, rates
from fedspec_proofs.report import worst_case_chart
from fedspec_suite.cli.assignments import assigned
from fedspec_suite.report import terminal
from fedspec_suite.report.terminal import Json

FRACTION = "a fraction such as 1/4 or 0.25"


def mount(app: typer.Typer) -> None:
    """Add the command to the app."""

    @app.command("worst-case", epilog="Exit code: 0 a certified number, 2 none, or a usage error.")
    def worst_case(
        context: typer.Context,
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
        eigenvalues: Annotated[
            str,
            typer.Option(
                metavar="LOW,HIGH",
                help="In place of a matrix: any symmetric one whose other eigenvalues are between these.",
            ),
        ] = "",
        alpha: Annotated[
            str, typer.Option(help="Any compressor with |C(v) - v|^2 <= (1 - alpha) |v|^2, of clients that send such.")
        ] = "",
        eta: Annotated[str, typer.Option(help="The server's rate, of ef21; of several the best is said.")] = "",
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
        """Certify how far from the minimiser x* rounds may end that begin at most 1 away from it, whatever the clients.

        Clients are any mu-strongly convex functions with L-Lipschitz gradients, in any dimension, L = 1; all take part,
        with equal weights. Of peers it is the mean over all. The algorithm's own functions are run on linear forms. A
        semidefinite program finds the worst functions, and multipliers that prove that there are none worse, which are
        checked in fractions.
        """
        if missing := [module for module in ("clarabel", "scipy") if find_spec(module) is None]:
            words = f"worst-case: it needs {' and '.join(missing)}"
            raise FedspecError(f"{words}; {to_install('certify', 'fedspec-proofs')}")
        row = find(algorithm)
        numbers = {
            n: v for n, (v, _) in assigned("--set", setting or [], [row], lambda t: _said(row, t))[row.id].items()
        }
        unsaid = {} if lyapunov else {n: Fraction(str(v)) for n, v in usual(row, given=numbers).items() if n != "eta_l"}
        W, of_class = worst_forms.matrix(mixing), worst_forms.interval(eigenvalues)
        name, said = ("eta", eta) if eta else ("eta_l", eta_l)
        tried = [_fraction(f"--{name.replace('_', '-')}", rate) for rate in said.split(",")]
        own = name not in row.numbers
        given, local = unread_options.parameters_given(context), _counts(steps)
        if "eta_l" in given and "eta_l" not in row.numbers:
            raise ParameterError(f"--eta-l {eta_l}: {row.id} has no eta_l; give its rate by --set")
        worst_forms.refuse_class(row, lyapunov, alpha=alpha, eta=eta, eigenvalues=of_class, W=W)
        counts = worst_forms.of_all(local, W, alike=bool(of_class))
        drawing = worst_case_chart.drawing(chart)
        if coefficients:
            worst_coefficients.refuse(row, numbers, tried, rounds, lyapunov, W)
            unread_options.refuse(row, unread_options.Question.COEFFICIENTS, given, numbers, local, 0)
            other = (_fraction("--mu", mu), _fraction("--zeta", zeta) ** 2)
            one = worst_coefficients.report(row, counts, tried[0], coefficients, *other)
            terminal.emit([one]) if as_json else _print(worst_coefficients.lines(one))
            return
        convexity, zeta2 = _fraction("--mu", mu), _fraction("--zeta", zeta) ** 2
        worst_forms.refuse_delay(row, delay, lyapunov)
        asked = unread_options.question(lyapunov=lyapunov, eigenvalues=bool(of_class), alpha=bool(alpha))
        unread_options.refuse(row, asked, given, numbers, local, len(W))
        told = []
        for rate in tried:
            begun, at = time.monotonic(), {**numbers, **unsaid, **({} if own else {name: rate})}
            if of_class:
                told.append(worst_forms.mixed(row, counts[0], at, convexity, of_class))
            elif alpha:
                told.append(worst_forms.compressed(row, len(counts), at, convexity, _fraction("--alpha", alpha)))
            elif lyapunov:
                told.append(_factor(row, counts, at, convexity, W, delay))
            else:
                more = {"mu": convexity, "zeta2": zeta2, "rounds": rounds} | ({"mixing": W} if W else {})
                told.append(_distance(row, counts, at, more))
            told[-1]["usual"] = sorted(told[-1].pop("unsaid", unsaid))
            told[-1]["seconds"] = round(time.monotonic() - begun, 1)
        if drawing:
            drawing(told)
        if as_json:
            terminal.emit(told)
            return
        _print(lines(told[0]) if len(told) == 1 else rates(told))


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
    from fedspec_proofs.worst_cases import any_rounds
    from fedspec_proofs.worst_cases.search import any_rounds as search

    with terminal.spinner() as said:
        said(f"{row.id}: looking for the worst clients")
        found = search.worst_case(any_rounds.Rounds(row, steps, numbers, **more))
    vectors = found.attained.vectors if found.attained else {}
    return {
        "algorithm": row.id,
        "steps": steps,
        "numbers": in_words(numbers),
        **{n: str(c) if isinstance(c, Fraction) else c for n, c in more.items()},
        "bound": str(found.bound),
        "reached": None if found.reached is None else str(found.reached),
        "program": found.worst,
        "multipliers": in_words(found.proof),
        "functions": {n: [str(c) for c in v] for n, v in vectors.items()},
    }


def _factor(
    row: Algorithm,
    steps: tuple[int, ...],
    numbers: dict[str, Fraction],
    mu: Fraction,
    W: Words,
    delay: int,
) -> dict[str, Any]:
    if W:
        return worst_forms.exchange_factor(row, W, steps, numbers, mu)
    if worst_forms.is_outer(row):
        return worst_forms.server_factor(row, steps, numbers, mu, delay)
    from fedspec_proofs.worst_cases import one_round as rounds
    from fedspec_proofs.worst_cases.search import one_round as search

    if row.id not in rounds.HELD:
        raise ParameterError(
            f"worst-case --lyapunov: got {row.id}; it applies to {', '.join(rounds.HELD)}, and to servers with "
            f"momentum or delayed changes; leave --lyapunov out"
        )
    numbers = {n: Fraction(c) for n, c in rounds.OTHERS[row.id].items()} | numbers
    asked = rounds.Round(row.id, steps, str(numbers["eta_l"]), mu=str(mu), numbers=others(numbers))
    return falling(row, asked, search.certified, steps=steps, numbers=in_words(numbers))
