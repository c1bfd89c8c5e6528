"""The command ``fedspec smoke``: one small case of each offer, played and not judged."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from fedspec.errors import FedspecError
from fedspec.wire import encode
from fedspec_suite.cli.check import check_limit
from fedspec_suite.judge import locate
from fedspec_suite.judge.all_offers import ask_all_offers
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import WORDS, Bench
from fedspec_suite.measure.declared_limits import limit_fields
from fedspec_suite.measure.setting import Setting
from fedspec_suite.report.terminal import Json, console, emit, spinner, table

EPILOG = "Exit code: 0 every claim gets answers, 2 one does not, or a usage error."


def smoke(
    implementations: Annotated[list[str], typer.Argument(metavar="ADAPTER...", help="; ".join(locate.KINDS))],
    limit: Annotated[float, typer.Option(help="Seconds that one answer may take.")] = 20.0,
    as_json: Json = False,
) -> None:
    """Run one small case of each claim, and print your numbers beside those of its reading; nothing is judged."""
    check_limit(limit)
    rows: list[dict[str, Any]] = []
    with spinner() as progress:
        for asked in ask_all_offers(implementations, _played, limit=limit, progress=progress):
            info, offer = asked.info, asked.offer
            works, said, want, case = asked.answer or (False, asked.error, "", {})
            rows.append(
                {
                    "id": f"{asked.name}{':' * bool(offer.variant)}{offer.variant}/{offer.algorithm}/{offer.level}"
                    if offer
                    else asked.name,
                    "subject": info.name if info else asked.name,
                    "version": info.version if info else "",
                    "algorithm": offer.algorithm if offer else "",
                    "level": offer.level if offer else "",
                    "reading": offer.reading if offer else "",
                    "options": dict(offer.options) if offer else {},
                    "fixed": dict(offer.fixed) if offer else {},
                    **(limit_fields(offer) if offer else {"limits": []}),
                    "notes": offer.notes if offer else "",
                    "works": works,
                    "answer": said,
                    "reading_gives": want,
                    **case,
                }
            )
    if as_json:
        emit(rows)
    else:
        for subject, those in groupby(rows, key=_whose):
            console().print(Text(subject, style="bold"), soft_wrap=True)
            console().print(_answers(those))
        console().print(
            Text(
                "Many mistakes do not show in so small a case (--json has it); `fedspec check` decides.",
                style="dim",
            )
        )
    raise typer.Exit(0 if all(r["works"] for r in rows) else 2)


def _said(shown: Mapping[str, Any]) -> str:
    """An answer on one line, rounded for the eye."""
    return ", ".join(f"{n} {[round(float(x), 6) for x in v]}" for n, v in shown.items() if n not in WORDS)


def _numbers(shown: Iterable[Mapping[str, Any]]) -> list[dict[str, list[float]]]:
    """Convert all answers to floats with all their digits."""
    return [{n: [float(x) for x in v] for n, v in answer.items() if n not in WORDS} for answer in shown]


def _played(bench: Bench, setting: Setting) -> tuple[bool, str, str, dict[str, Any]]:
    """Play the smallest case: True if it was answered, the answer or the error, the reading's answer, and the case."""
    s = plain_scenario(setting)
    wanted = bench.expect(s)
    played = {"case": encode(s.case), "events": [encode(e) for e in s.events], "wanted": _numbers(wanted)}
    expected = wanted[-1]
    try:
        answers = bench.play(s)
        answer, played["answers"] = answers[-1], _numbers(answers)
    except (FedspecError, AssertionError) as error:
        return False, str(error), _said(expected), played
    return True, _said(answer), _said({n: expected[n] for n in answer if n in expected}), played


def _whose(row: Mapping[str, Any]) -> str:
    """The subject as named on the command line, with the variant."""
    return str(row["id"]).removesuffix(f"/{row['algorithm']}/{row['level']}")


def _answers(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A table of the answers of offers, beside those of their readings."""
    t = table("claim", "reading", "fixed, taken", "after one small case", "what the reading gives")
    for row in rows:
        options = " ".join(f"{n}={v}" for n, v in row["options"].items())
        rates = [f"rates={row['rates']}"] if row.get("rates", "one") != "one" else []
        pinned = ", ".join([*(f"{n}={v:g}" for n, v in row["fixed"].items()), *rates, *row["limits"]])
        # Three intermediates on a line cannot be compared by eye: a quantity a line, in one order.
        both = (row[column].replace("], ", "]\n") for column in ("answer", "reading_gives"))
        offer = f"{row['algorithm']}/{row['level']}" if row["algorithm"] else ""
        t.add_row(offer, f"{row['reading']} {options}".strip(), pinned, *both)
    return t
