"""The command ``fedspec identify``: which variant an implementation is, whatever it claims."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Annotated, Any

import typer

from fedspec_suite.judge import locate
from fedspec_suite.judge.diagnosis import Diagnosis, identify
from fedspec_suite.judge.request import chosen
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import declared
from fedspec_suite.report import table
from fedspec_suite.report.terminal import Json, console, emit, spinner


def _words(d: Diagnosis, claim: str) -> str:
    if not d.played:
        return "it played none of the cases; `fedspec smoke` shows its answers"
    if d.follows:
        return f"what it claims, {claim} (ratio {d.claimed:.2g})"
    return d.unlike("\n")


def mount(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("identify", epilog="Exit code: 0 every offer is known, 1 one is not, 2 usage or adapter error.")
    def identify_(
        implementation: Annotated[str, typer.Argument(metavar="IMPL", help="; ".join(locate.KINDS))],
        only: Annotated[
            list[str] | None, typer.Option(help="[VARIANT:]ALGORITHM[/LEVEL[/READING]], with * and ?; repeatable.")
        ] = None,
        limit: Annotated[float, typer.Option(min=1e-9, help="Seconds that one answer may take.")] = 20.0,
        as_json: Json = False,
    ) -> None:
        """Say which variant each offer is: a reading, a known or a generic defect, two at once, another rule.

        A dozen rich cases are played; this is no verdict, for that there is `fedspec check`.
        """
        rows: list[dict[str, Any]] = []
        tables = []
        with spinner() as progress:
            for name in locate.expand(implementation):
                t = table.plain("algorithm", "level", "claims", "is")
                with locate.opened(name, limit=limit, progress=progress) as subject:
                    tables.append((f"{name} ({subject.info.version})", t))
                    for offer in (subject.info.offers[i] for i in chosen(subject.info.offers, only or ())):
                        setting = setting_of(offer)
                        bench = bench_of(subject, offer, setting)
                        d = identify(bench, setting)
                        where = (offer.algorithm, offer.level, declared(offer))
                        which = f"{offer.variant}:{offer.algorithm}" if offer.variant else offer.algorithm
                        t.add_row(which, *where[1:], _words(d, offer.reading))
                        rows.append(
                            {
                                "subject": name,
                                "version": subject.info.version,
                                "variant": offer.variant,
                                **dict(zip(("algorithm", "level", "claims"), where, strict=True)),
                                "follows": d.follows,
                                "words": _words(d, offer.reading),
                                **asdict(d),
                                "claimed": d.claimed if math.isfinite(d.claimed) else None,
                            }
                        )
        if as_json:
            emit(rows)
        else:
            out = console()
            for title, t in tables:
                out.print(title, t, sep="\n")
        if not rows or not all(r["played"] for r in rows):
            raise typer.Exit(2)
        raise typer.Exit(0 if all(r["follows"] or r["found"] for r in rows) else 1)
