"""The command ``fedspec faults``: print what a server does with faulty messages."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.text import Text

from fedspec.faults import KINDS, Treatment
from fedspec_suite.cli.check import check_limit
from fedspec_suite.judge import locate
from fedspec_suite.judge.all_offers import ask_all_offers
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.fault_cases import dealt, in_another_block, kinds, observed
from fedspec_suite.measure.process import LIMIT
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import format_claim
from fedspec_suite.report.terminal import Json, Only, console, emit, spinner, table

EPILOG = "Exit code: 0 no declaration is wrong, 1 one is, 2 a claim gets no answer, or a usage error."

CASES = 2
"""Number of cases of each kind; a treatment must match the subject's models in all of them."""

NOTHING = "does something else"


def faults(
    implementations: Annotated[list[str], typer.Argument(metavar="ADAPTER...", help="; ".join(locate.KINDS))],
    only: Only = None,
    limit: Annotated[float, typer.Option(help="Seconds that one answer may take.")] = LIMIT,
    as_json: Json = False,
) -> None:
    """Send servers messages that aren't right, such as a change that holds NaN, and print what each does.

    If a claim declares `faults`, `fedspec check` compares them with what the server does; docs/faults.md.
    """
    check_limit(limit)
    rows: list[dict[str, Any]] = []
    with spinner() as progress:
        for asked in ask_all_offers(implementations, _observed, only=only or (), limit=limit, progress=progress):
            offer = asked.offer
            if offer and offer.level != "server" and not asked.error:
                continue
            name = f"{offer.variant}{':' * bool(offer.variant)}{offer.algorithm}/{format_claim(offer)}" if offer else ""
            version = asked.info.version if asked.info else ""
            head = {"id": "/".join(filter(None, (asked.name, name))), "version": version, "error": asked.error}
            rows.append({**head, "faults": asked.answer or {}, "declared": dict(offer.faults) if offer else {}})
    if as_json:
        emit(rows)
    else:
        for row in rows:
            _print(row)
    wrong = any(row["faults"].get(kind, {}).get("wrong") for row in rows for kind in row["declared"])
    raise typer.Exit(2 if any(row["error"] for row in rows) else int(wrong))


def _observed(bench: Bench, setting: Setting) -> dict[str, dict[str, Any]]:
    """Treatments of each kind by an offer, by name; nothing at the levels without messages."""
    if setting.level != "server":
        return {}
    cases = [dealt(setting, number) for number in range(CASES)]
    found: dict[str, dict[str, Any]] = {}
    for kind in kinds(cases[0]):
        asked = [*cases, *(map(in_another_block, cases) if kind in ("nan", "infinite") else [])]
        seen = [observed(bench, s, kind) for s in asked]
        does = [str(t) for t in KINDS[kind][1] if all(t in some for some, _ in seen)]
        declared = setting.faults.get(kind, "")
        said = seen[0][1] if not does or Treatment.RAISES in does else ""
        wrong = bool(declared) and declared not in does
        found[kind] = {"does": does, "said": said, "declared": declared, "wrong": wrong}
    return found


def _print(row: dict[str, Any]) -> None:
    console().print(Text(f"{row['id']} {row['version']}", style="bold"), soft_wrap=True)
    if row["error"]:
        console().print(Text(f"  {row['error']}"), soft_wrap=True)
        return
    t = table("message", "kind", "what it does", "declared")
    for kind, found in row["faults"].items():
        does = " or ".join(found["does"]) or NOTHING
        told = f"{does}: {found['said']}" if found["said"] else does
        t.add_row(KINDS[kind][0], kind, told, f"{found['declared']}{' (wrong)' * found['wrong']}")
    console().print(t)
    first = {kind: found["does"][0] for kind, found in row["faults"].items() if found["does"]}
    if not row["declared"]:
        console().print(Text(f"to declare it: Claim(..., faults={json.dumps(first)})", style="dim"), soft_wrap=True)
