"""The command ``fedspec smoke``: run one small case of each offer without judging it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Any

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from fedspec.errors import FedspecError
from fedspec.wire import encode
from fedspec_suite.cli.check import check_limit
from fedspec_suite.judge import locate
from fedspec_suite.judge.all_offers import ask_all_offers
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.bench import THRESHOLD, WORDS, Bench
from fedspec_suite.measure.declared_limits import limit_fields
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.report.terminal import Json, console, emit, spinner, table

MARK = "✗"
"""Mark after a number that differs from the reading's number."""

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
            works, said, want, case = asked.answer or (False, asked.error, "", {"differs": {}})
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
        if any(r["differs"] for r in rows):
            console().print(Text(f"{MARK} differs from what the reading gives."))
        console().print(
            Text(
                "Many mistakes do not show in so small a case (--json has it); `fedspec check` decides.",
                style="dim",
            )
        )
    raise typer.Exit(0 if all(r["works"] for r in rows) else 2)


def _said(shown: Mapping[str, Any], differs: Mapping[str, Sequence[int]] | None = None) -> str:
    """An answer on one line, rounded for the eye; numbers that differ are marked."""
    off = differs or {}
    quantities = (
        f"{n} [{', '.join(f'{round(float(x), 6)}{MARK * (j in off.get(n, ()))}' for j, x in enumerate(v))}]"
        for n, v in shown.items()
        if n not in WORDS
    )
    return ", ".join(quantities)


def _differs(got: Mapping[str, Any], want: Mapping[str, Any], dtype: str) -> dict[str, list[int]]:
    """The numbers of an answer that rounding can't explain, by quantity and index."""
    info, found = np.finfo(dtype), {}
    for n in (n for n in got if n in want and n not in WORDS):
        wanted = np.array([float(x) for x in want[n]])
        allowed = THRESHOLD * (float(info.eps) * bounds_of(want[n]) + float(info.tiny))
        same = wanted.shape == got[n].shape and (np.abs(got[n] - wanted) <= allowed) | (
            np.isnan(got[n]) & np.isnan(wanted)
        )
        if off := np.flatnonzero(~np.broadcast_to(same, got[n].shape)).tolist():
            found[n] = off
    return found


def _numbers(shown: Iterable[Mapping[str, Any]]) -> list[dict[str, list[float]]]:
    """Convert all answers to floats with all their digits."""
    return [{n: [float(x) for x in v] for n, v in answer.items() if n not in WORDS} for answer in shown]


def _played(bench: Bench, setting: Setting) -> tuple[bool, str, str, dict[str, Any]]:
    """Play the smallest case: True if it was answered, the answer or the error, the reading's answer, and the case."""
    s = plain_scenario(setting)
    wanted = bench.expect(s)
    played = {"case": encode(s.case), "events": [encode(e) for e in s.events], "wanted": _numbers(wanted)}
    expected, played["differs"] = wanted[-1], {}
    try:
        answers = bench.play(s)
        answer, played["answers"] = answers[-1], _numbers(answers)
        played["differs"] = _differs(answer, expected, setting.dtype)
    except (FedspecError, AssertionError) as error:
        return False, str(error), _said(expected), played
    return True, _said(answer, played["differs"]), _said({n: expected[n] for n in answer if n in expected}), played


def _whose(row: Mapping[str, Any]) -> str:
    """The subject as named on the command line, with the variant."""
    return str(row["id"]).removesuffix(f"/{row['algorithm']}/{row['level']}")


def _answers(rows: Iterable[Mapping[str, Any]]) -> Table:
    """A table of the answers of offers, beside those of their readings."""
    found = []
    for row in rows:
        options = " ".join(f"{n}={v}" for n, v in row["options"].items())
        rates = [f"rates={row['rates']}"] if row.get("rates", "one") != "one" else []
        pinned = ", ".join([*(f"{n}={v:g}" for n, v in row["fixed"].items()), *rates, *row["limits"]])
        # Three intermediates on a line cannot be compared by eye: a quantity a line, in one order.
        both = (row[column].replace("], ", "]\n") for column in ("answer", "reading_gives"))
        offer = f"{row['algorithm']}/{row['level']}" if row["algorithm"] else ""
        found.append((offer, f"{row['reading']} {options}".strip(), pinned, *both))
    head = ("claim", "reading", "fixed, taken", "after one small case", "what the reading gives")
    shown = [k for k in range(len(head)) if any(cells[k] for cells in found)]
    t = table(*(head[k] for k in shown))
    for cells in found:
        t.add_row(*(cells[k] for k in shown))
    return t
