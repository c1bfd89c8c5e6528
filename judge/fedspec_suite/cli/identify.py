"""The command ``fedspec identify``: name the variant that an implementation computes, whatever it claims."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import groupby
from operator import itemgetter
from typing import Annotated, Any

import typer
from rich.text import Text

from fedspec_suite.diagnosis.diagnosis import Diagnosis
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.diagnosis.search import Search
from fedspec_suite.judge import locate
from fedspec_suite.judge.all_offers import OfferAnswer, ask_all_offers
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import format_declaration
from fedspec_suite.report import verdicts
from fedspec_suite.report.terminal import Json, Only, console, emit, spinner, table

EPILOG = "Exit code: 0 every claim is identified, 1 one is not, 2 usage or adapter error."


def _named(progress: Callable[[str], None], bench: Bench, setting: Setting) -> Diagnosis:
    where = f"{setting.algorithm.id}/{setting.level}"
    return identify(bench, setting, search=Search(tell=lambda far: progress(f"{far}, {where}")))


def _words(d: Diagnosis, claim: str) -> str:
    if not d.played:
        return "it played none of the cases; `fedspec smoke` shows its answers"
    if d.follows:
        return f"what it claims, {claim}, in the {d.played} cases played (ratio {d.claimed:.2g})"
    return d.instead("\n")


def _row(asked: OfferAnswer[Diagnosis]) -> dict[str, Any]:
    info, offer, d = asked.info, asked.offer, asked.answer or Diagnosis(0, math.inf)
    return {
        "subject": asked.name,
        "version": info.version if info else "",
        "variant": offer.variant if offer else "",
        "algorithm": offer.algorithm if offer else "",
        "level": offer.level if offer else "",
        "claims": format_declaration(offer) if offer else "",
        "follows": d.follows,
        "words": asked.error or _words(d, offer.reading if offer else ""),
        **asdict(d),
        "claimed": d.claimed if math.isfinite(d.claimed) else None,
        "error": asked.error,
    }


def identify_(
    implementations: Annotated[list[str], typer.Argument(metavar="ADAPTER...", help="; ".join(locate.KINDS))],
    only: Only = None,
    limit: Annotated[float, typer.Option(min=1e-9, help="Seconds that one answer may take.")] = 20.0,
    as_json: Json = False,
) -> None:
    """Name the variant that your code computes: a reading, a known defect, two at once, or another rule.

    A dozen rich cases are played; this is no verdict, for that there is `fedspec check`.
    """
    with spinner() as progress:
        named = partial(_named, progress)
        asked = ask_all_offers(implementations, named, only=only or (), limit=limit, progress=progress)
        rows = [_row(one) for one in asked]
    if as_json:
        emit(rows)
    else:
        out = console()
        for name, of_subject in groupby(rows, key=itemgetter("subject")):
            t, version, told = table("algorithm", "level", "claims", "is"), "", list[Text | str]()
            for row in of_subject:
                version = row["version"]
                which = f"{row['variant']}:{row['algorithm']}" if row["variant"] else row["algorithm"]
                t.add_row(which, row["level"], row["claims"], row["words"])
                if lines := verdicts.equations(row["found"], out, min(out.width, verdicts.WIDEST) - 4):
                    head = Text(f"  {which}/{row['level']}", "bold")
                    told += ["", head, *(Text.assemble("    ", line) for line in lines)]
            out.print(f"{name} ({version})" if version else name, t, *told, sep="\n")
    if any(r["played"] and not (r["follows"] or r["found"]) for r in rows):
        raise typer.Exit(1)
    raise typer.Exit(0 if all(r["played"] for r in rows) else 2)
