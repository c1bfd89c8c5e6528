"""Write the generated tables of README and these pages: ``python docs/tables.py``; ``--check``: are they current.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import inspect
import json
import sys
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from fedspec import contract
from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError
from fedspec.faults import KINDS, Treatment
from fedspec.papers import PAPERS, Paper
from fedspec.readings import CoverName, Solver
from fedspec_proofs import ledger
from fedspec_proofs.claim import Verdict
from fedspec_proofs.worst_cases.tabled import with_sections
from fedspec_suite.measure.fault_cases import WEIGHTS
from fedspec_suite.mutants import MUTANTS
from fedspec_suite.report.markdown import table
from fedspec_suite.vectors import kill_counts, store

HERE = Path(__file__).resolve().parent


def code(words: Iterable[object]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def decided(a: Algorithm, option: str) -> list[str]:
    return [reading.name for reading in a.readings if option in reading.fixes]


def cited() -> str:
    """A list of the papers, each as it is cited, and of the rows that another version calls otherwise."""
    listed = [f"**{p.name}**: {p.cited} {_links(p)}" for p in PAPERS.values()]
    # Of other names those that versions of these papers give to several rows.
    both = {a.id: a.aliases for a in CATALOGUE.values() if a.source.startswith(tuple(p.name for p in PAPERS.values()))}
    named = [f"`{id}`, also `{n}`: {words}" for id, aliases in both.items() for n, words in aliases.items()]
    return "".join(f"* {words}.\n" for words in (*listed, ". ".join(named)))


def _links(p: Paper) -> str:
    return ", ".join(f"[{said}]({link})" for said, link in p.links.items())


def packages() -> str:
    """Table of the packages with the number of conforming claims, from the results of `make conformance`."""
    results = (HERE / "conformance" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in map(json.loads, results):
        found.setdefault((row["subject"].partition(" ")[0], row["version"]), []).append(row)
    rows = []
    for (name, version), offers in found.items():
        # No definition of an algorithm says what becomes of buffers, so they are told apart.
        other = [
            o["algorithm"] + " (buffers)" * (" buffers " in o["claimed"]) + " (error)" * (o["verdict"] == "error")
            for o in offers
            if not o["verdict"].startswith("conforms")
        ]
        shown = ", ".join(dict.fromkeys(other))
        page = f"[{name}](docs/conformance/README.md#{name})"
        rows.append([f"{page} {version.partition('+')[0]}", f"{len(offers) - len(other)} of {len(offers)}", shown])
    deviating = "deviating algorithms (buffers: a model's running statistics; error: no answer)"
    return table(["package", "claims that conform", deviating], rows)


def answers() -> str:
    """Table of what the packages' servers do with faulty messages, from the answers that are stored."""
    stored = json.loads((HERE / "conformance" / "faults.json").read_text(encoding="utf-8"))
    rows = []
    for name, told in stored.items():
        servers = told["servers"]
        version = servers[0]["version"].partition("+")[0]
        seen = [_treated(name, kind, servers) for kind in ASKED]
        rows.append([f"{name} {version}, {told['date']}", str(len(servers)), *seen])
    return table(["package", "servers", *(f"`{kind}`" for kind in ASKED)], rows)


ASKED = tuple(kind for kind in KINDS if kind != "shape")
"""Kinds of faults that reach every package: to one that takes models the adapter adds the change, in whatever shape."""


BEFORE = {"fedbiomed": WEIGHTS, "openfl": WEIGHTS, "byzfl": {"no-message"}, "torchft": {"no-message"}}
"""Kinds of faults that the adapter of a package meets first: it computes shares of weights, or stacks the changes."""

UNTOLD = "without a fault"
"""Beginning of the answer of a server that deviates without a fault too, so that no treatment shows."""


def _treated(name: str, kind: str, servers: Sequence[dict[str, Any]]) -> str:
    """Treatments of one kind by the servers of a package, with their numbers if there are several."""
    if kind in BEFORE.get(name, ()):
        return ""
    told = [s["does"][kind] for s in servers if kind in s["does"] and not s["does"][kind][0].startswith(UNTOLD)]
    usual = (Treatment.PASSES if Treatment.PASSES in does else does[0] for does in told)
    counts = Counter(str(does) if does in {*Treatment} else "otherwise" for does in usual)
    return ", ".join(f"{does} {n}" for does, n in counts.most_common()) if len(counts) > 1 else "".join(counts)


def parameters() -> str:
    used = {n for a in CATALOGUE.values() for n in a.numbers}
    rows = ([f"`{n}`", domain.words, meaning] for n, (domain, meaning, _) in DOMAINS.items() if n in used)
    return table(["name", "value", "meaning"], rows)


def offers() -> str:
    rows = []
    for a in CATALOGUE.values():
        free = []
        for name, kind in a.options.items():
            by = decided(a, name)
            if len(by) < len(a.readings):
                default = a.defaults()[name]
                values = [default, *(str(v) for v in kind if str(v) != default)]
                only = [f"only with {' or '.join(a.plays[name])}".replace("=", " = ")] if name in a.plays else []
                said = ", ".join([*only, *([f"but by {' or '.join(f'`{r}`' for r in by)}"] if by else [])])
                but = f" ({said})" if said else ""
                free.append(f"{name}: {' / '.join(values) if len(values) < 4 else 'see below'}{but}")
        here = a.numbers_at(a.levels[0])
        more = [n for n in a.numbers_at(a.levels[-1]) if n not in here]
        claims = ", ".join(f"`{r.name}`" + (f" ({', '.join(r.levels)} only)" if r.levels else "") for r in a.readings)
        served = a.shows_at(a.levels[0])
        shown = ", ".join(f"`{n}`" + ("" if n in served else " (not at server)") for n in a.shows)
        rows.append([f"`{a.id}`", ", ".join(a.levels), claims, code(here), code(more), "; ".join(free), shown])
    head = ["algorithm", "levels", "readings", "hyper-parameters", "also at `round`", "options", "intermediates"]
    return table(head, rows)


def records() -> str:
    lines = [textwrap.fill(f"{r.__name__}{_call(r)}", 112, subsequent_indent=" " * 6) for r in RECORDS]
    return "```text\n" + "\n".join(lines) + "\n```\n"


RECORDS = (
    contract.Info,
    contract.Claim,
    contract.Case,
    contract.Quadratics,
    contract.Gradient,
    contract.Begin,
    contract.Messages,
    contract.ClientMessage,
    contract.Round,
    contract.Exchange,
    contract.Arrival,
)
"""What an adapter meets, in the order of the page."""


def _call(record: type[Any]) -> str:
    """How it is made: its fields in their order, with what they are where they are left out."""
    made = {f.name: f.default_factory for f in fields(record) if f.default_factory is not MISSING}
    said = []
    shown = {f.name for f in fields(record)}
    for p in (p for n, p in inspect.signature(record).parameters.items() if n in shown):
        usual = repr(made[p.name]()) if p.name in made else "" if p.default is p.empty else repr(p.default)
        said.append(f"{p.name}={usual}" if usual else p.name)
    return f"({', '.join(said)})"


def options() -> str:
    kinds: dict[str, Iterable[object]] = {"solver of `fednova` and what is like it": Solver, "cover of SM3": CoverName}
    return "".join(f"* {name}: {code(kind)}\n" for name, kind in kinds.items())


def shown() -> str:
    """Numbers of the mutants, and of those that the vectors alone show."""
    seen = sum(1 for n in kill_counts.count_kills(store.load()).values() if n)
    return (
        f"There are {len(MUTANTS)} mutants, and the vectors alone show {seen} of them (`fedspec vectors mutants`,\n"
        "which says why the others stay).\n"
    )


def verdicts() -> str:
    refuted = ("refuted, printed", "refuted, ours")
    kinds = [kind for v in ledger.verdicts() for kind in (refuted if v == Verdict.REFUTED else (v,))]
    head = ["paper", "claims", *kinds]
    rows = []
    for paper in PAPERS.values():
        mine = [c for c in ledger.claims().values() if c.paper == paper.key]
        counts = Counter(refuted[not c.printed] if c.verdict is Verdict.REFUTED else ledger.kind(c) for c in mine)
        spoiled = sum(v.paper == paper.key for v in ledger.variants().values())
        rows.append([paper.name, *map(str, (len(mine), *(counts[kind] for kind in kinds), spoiled))])
    total = ["all", *(str(sum(int(row[k]) for row in rows)) for k in range(1, len(head) + 1))]
    return table([*head, "false variants refuted"], [*rows, total])


TABLES = (cited, packages, answers, parameters, offers, records, options, shown, verdicts)


def main(arguments: Sequence[str]) -> int:
    stale, tables = [], {f"table: {f.__name__}": f() for f in TABLES}
    for page in (HERE.parent / "README.md", *sorted(HERE.glob("*.md"))):
        old = page.read_text(encoding="utf-8")
        new = with_sections(old, tables)
        if new != old:
            stale.append(page.name)
            if "--check" not in arguments:
                page.write_text(new, encoding="utf-8")
    print(f"{'stale' if '--check' in arguments else 'written'}: {', '.join(stale) or 'none'}")
    return int(bool(stale) and "--check" in arguments)


if __name__ == "__main__":
    try:
        raise SystemExit(main(sys.argv[1:]))
    except FedspecError as error:
        raise SystemExit(f"tables: {error}") from None
