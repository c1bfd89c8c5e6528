"""Write the generated tables of README and these pages: ``python docs/tables.py``; ``--check``: are they current.

A table stands between ``<!-- table: NAME -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import MISSING, fields
from itertools import chain as joined
from pathlib import Path
from typing import Any

from fedspec import contract
from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError
from fedspec.papers import PAPERS, Paper
from fedspec.readings import CoverName, Solver
from fedspec_proofs import chain, ledger
from fedspec_proofs.claim import Claim, Verdict
from fedspec_proofs.engines.worst_case.attained import Attained, share
from fedspec_proofs.engines.worst_case.certificates import CERTIFIED, load
from fedspec_proofs.errata import errata as lines
from fedspec_properties.invariants import BEYOND, of_paper
from fedspec_properties.reductions import EDGES
from fedspec_suite.laws import LAWS
from fedspec_suite.mutants import MUTANTS
from fedspec_suite.report.graph import by_family, checked, mermaid, restriction
from fedspec_suite.vectors import catching, stored
from fedspec_torch import recipes
from fedspec_torch.recipes import told
from fedspec_torch.recipes.checks import verdict
from fedspec_torch.recipes.measures import MEASURES
from fedspec_torch.recipes.stored import Stored, kept

HERE = Path(__file__).resolve().parent
PLACE = re.compile(r"(<!-- table: (?P<name>[a-z]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def code(words: Iterable[object]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def plain(text: str) -> str:
    """Symbols that are no emphasis."""
    return re.sub(r"([*~])", r"\\\1", text)


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


BESIDE = 3
"""How many packages stand on a line of the README."""


def packages() -> str:
    """How many offers of each package conform, from the results of `make conformance`."""
    results = (HERE / "conformance" / "results.jsonl").read_text(encoding="utf-8").splitlines()
    found: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in map(json.loads, results):
        if " buffers " in row["claimed"]:
            # No definition of an algorithm says what becomes of them.
            continue
        found.setdefault((row["subject"].partition(" ")[0], row["version"]), []).append(row)
    cells = []
    for (name, version), offers in found.items():
        other = [o["algorithm"] for o in offers if not o["verdict"].startswith("conforms")]
        shown = ", ".join(dict.fromkeys(other))
        cells.append([f"{name} {version.partition('+')[0]}", f"{len(offers) - len(other)} of {len(offers)}", shown])
    lines = -(-len(cells) // BESIDE)
    cells += [["", "", ""]] * (BESIDE * lines - len(cells))
    head = ["package", "conform", "others are of"] * BESIDE
    return table(head, [[*joined.from_iterable(cells[i::lines])] for i in range(lines)])


def papers() -> str:
    head = ["short name", "paper", "text that is specified", "what other versions change", "what is used of it"]
    shown = ([p.name, f"{p.cited} {_links(p)}", p.specified, p.later or "not known", p.used] for p in PAPERS.values())
    return table(head, shown)


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
    contract.SubjectInfo,
    contract.Offer,
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
    for p in inspect.signature(record).parameters.values():
        usual = repr(made[p.name]()) if p.name in made else "" if p.default is p.empty else repr(p.default)
        said.append(f"{p.name}={usual}" if usual else p.name)
    return f"({', '.join(said)})"


def options() -> str:
    kinds: dict[str, Iterable[object]] = {"solver of `fednova` and what is like it": Solver, "cover of SM3": CoverName}
    return "".join(f"* {name}: {code(kind)}\n" for name, kind in kinds.items())


def catalogue() -> str:
    rows = []
    for a in CATALOGUE.values():
        also = "".join(f"; also `{name}`: {words}" for name, words in a.aliases.items())
        rows.append([f"`{a.id}`", a.title + also, ", ".join(a.levels), a.source, a.basis])
    return table(["id", "what", "levels", "source", "typed after"], rows)


def readings() -> str:
    rows = []
    for a in CATALOGUE.values():
        for reading in a.readings:
            asks = "".join(f"; asks {r.words}" for r in reading.requires)
            rows.append([f"`{a.id}`", f"`{reading.name}`", reading.told + asks])
    return table(["algorithm", "reading", "what it says"], rows)


def equations() -> str:
    seen: dict[str, list[str]] = {}
    for a in CATALOGUE.values():
        for e in a.equations:
            seen.setdefault(e.id, [f"`{e.id}`", f"`{e.text}`", f"`{e.rule.removeprefix('fedspec.')}`"])
    return table(["id", "equation, in our words", "rule, in `fedspec.`"], seen.values())


def laws() -> str:
    rows = ([f"`{w.id}`", ", ".join(w.levels), w.words, "yes" if w.reads_rule else ""] for w in LAWS.values())
    return table(["law", "levels", "what it says", "runs the rule"], rows)


def invariants() -> str:
    parts = []
    for paper in PAPERS.values():
        rows = []
        for v in of_paper(paper.key):
            seen = [*(f"law `{w}`" for w in v.laws), *(f"test `{t.removeprefix('tests/')}`" for t in v.tests)]
            seen += [f"claim `{p}`" for p in v.proofs]
            rows.append([str(v.number), plain(v.says), v.source, ", ".join(seen), plain(v.why)])
        head = ["", "statement", "source", "looked after by", "what is not covered, and why"]
        parts.append(f"### {paper.name}\n\n{table(head, rows)}")
    return "\n".join(parts)


def beyond() -> str:
    return table(["laws", "what they are for"], ([code(b.laws), b.why] for b in BEYOND))


def mutants() -> str:
    return table(["id", "what is wrong"], ([f"`{m.id}`", m.words] for m in MUTANTS.values()))


def shown() -> str:
    """How many mutants there are, and how many the vectors alone show."""
    seen = sum(1 for n in catching.counted(stored.load()).values() if n)
    return (
        f"There are {len(MUTANTS)} mutants, and the vectors alone show {seen} of them (`fedspec vectors mutants`,\n"
        "which says why the others stay).\n"
    )


def threads() -> str:
    rows = ([f"`{m.id}`", t.link, t.says, t.read] for m in MUTANTS.values() for t in m.seen)
    return table(["id", "thread", "what it says of the defect, in our words", "read"], rows)


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


def _numbers(c: Claim) -> str:
    return plain(", ".join(ledger.labels(c)))


def _said(c: Claim) -> str:
    return f"{c.told}: {plain(c.sizes)}" if c.sizes else c.told


def refuted() -> str:
    repairs = {c.repairs: c.id for c in ledger.claims().values() if c.repairs}
    rows = []
    for s in ledger.statements():
        for c in (ledger.claims()[id] for id in s.claims):
            if c.verdict is Verdict.REFUTED and c.printed:
                repaired = f"`{repairs[c.id]}`" if c.id in repairs else ""
                name = PAPERS[s.paper].name
                rows.append([name, plain(s.label), s.kind, f"`{c.id}`", str(c.severity), plain(c.statement), repaired])
    return table(["paper", "number", "kind", "claim", "severity", "what is false", "repaired in"], rows)


def errata() -> str:
    rows = []
    for paper in PAPERS.values():
        for row in lines(paper.package):
            at = ", ".join(f"{name} = {value}" for name, value in row.at.items())
            shown = [f"`{row.fails}` is false, `{row.holds}` true" + f" at `{at}`" * bool(at)] if row.fails else []
            cells = [paper.name, row.place, row.printed, row.mended, str(row.severity)]
            rows.append([*map(plain, cells), "; ".join([*shown, *filter(None, [row.words])])])
    return table(["paper", "place", "as printed", "should be", "severity", "seen by"], rows)


def claims() -> str:
    parts = []
    for paper in PAPERS.values():
        mine = [c for c in ledger.claims().values() if c.paper == paper.key]
        rows = [[_numbers(c), f"`{c.id}`", _said(c), str(c.engine), plain(c.statement), c.source.place] for c in mine]
        head = ["number", "claim", "verdict", "engine", "statement", "source"]
        parts.append(f"#### {paper.name}\n\n{table(head, rows)}")
    return "\n".join(parts)


def chains() -> str:
    """Of theorems and corollaries, printed and repaired: the links by their verdicts, and the weakest."""
    rows = []
    for id in dict.fromkeys(id for h in ledger.headlines() for id in h.statement.claims):
        c = ledger.claims()[id]
        if not c.chain:
            continue
        found = {link.claim.id: link.claim for link in chain.links(c)}
        counts = Counter(str(one.verdict) for one in found.values())
        weak = chain.weakest(c)
        breaks = bool(weak) and weak[0].verdict is Verdict.REFUTED
        words = (
            f"breaks at {code(one.id.partition('.')[2] for one in weak)}" if breaks else code(one.id for one in weak)
        )
        said = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
        rows.append([_numbers(c), f"`{c.id}`", _said(c), said, words or "every link is proved"])
    return table(["number", "claim", "verdict", "links", "weakest link"], rows)


def loose() -> str:
    known, rows = ledger.claims(), []
    for id, cases in ((id, CERTIFIED[id]) for id in known if id in CERTIFIED):
        for name, case in cases.items():
            certificate = load(id, name)
            needs = certificate.needs
            if needs is None:
                continue
            problem = case.make(case.high)
            built = needs.attained
            attained = f"{float(share(problem, built)):.4g}, d = {built.d}" if built else "none built"
            spare = [term for term, one in certificate.lacking.items() if one and not isinstance(one, Attained)]
            rows.append([f"`{id}`", plain(name), f"{float(needs.most):.4g}", attained, ", ".join(spare)])
    return table(["claim", "sizes and rates", "enough", "needed by functions", "terms not needed there"], rows)


def fenced(text: str) -> str:
    return f"```mermaid\n{text}\n```\n"


def overview() -> str:
    return fenced(mermaid(EDGES))


def families() -> str:
    parts = []
    for family, edges in by_family(EDGES).items():
        rows = [[f"`{e.source}`", f"`{e.target}`", restriction(e), checked(e), e.cited] for e in edges]
        numbered = [[str(k), *row] for k, row in enumerate(rows, 1)]
        head = ["", "algorithm", "is", "when", "checked in", "source"]
        parts.append(f"### {family.capitalize()}\n\n{fenced(mermaid(edges, numbers=True))}\n{table(head, numbered)}")
    return "\n".join(parts)


def results() -> Iterator[tuple[recipes.Recipe, Stored | None]]:
    """Every recipe, and what is stored of its large size."""
    for id in recipes.names():
        recipe, file = recipes.recipe(id), HERE / "reproduced" / f"{id}.json"
        yield recipe, kept(file, recipe) if file.exists() else None


def outcomes() -> str:
    """Every recipe, and whether its claim appears."""
    rows = []
    for recipe, found in results():
        said = verdict(recipes.judge(recipe, found.runs)).lower() if found else "not run at its large size yet"
        rows.append([f"[{recipe.id}](#{recipe.id})", f"{recipe.paper}, {recipe.place}", said])
    return table(["recipe", "of", "here"], rows)


def reproduced() -> str:
    """Of each recipe the claim, what its large size came to, check by check, and how it was made."""
    parts = []
    for recipe, found in results():
        text = f"### {recipe.id}\n\n**{recipe.paper}, {recipe.place}.** {recipe.claim}\n\n"
        if found is None:
            text += "Not run at its large size yet.\n\n"
            text += "".join(f"* {told.asked(check)}; {check.because}\n" for check in recipe.checks)
        else:
            findings, how = recipes.judge(recipe, found.runs), recipe.sizes[found.size]
            text += f"{verdict(findings)}:\n\n"
            for f in findings:
                text += f"* {'holds' if f.holds else '**does not hold**'}: {f.words} ({f.check.because})\n"
            text += f"\n{table(told.head(recipe), told.rows(recipe, found.runs))}\n"
            used = ", ".join(f"{n} {v}" for n, v in found.versions.items())
            text += f"{how.rounds} rounds, seeds 0 to {how.seeds - 1}; {found.date}; {used}.\n"
        grids = [f"{t.name}: {words}" for t in recipe.trials if (words := told.grid(t))]
        tried = "; ".join(grids) + f". {TUNED.format(MEASURES[recipe.tuning].words)}"
        parts.append(
            text + "\n" + "".join(f"* {note}\n" for note in [*recipe.remarks, *[f"Grids: {tried}"] * bool(grids)])
        )
    return "\n".join(parts)


TUNED = "Each point was run on two seeds that no result is of, and the best mean of {} won."

PAGES = (
    outcomes,
    reproduced,
    cited,
    packages,
    papers,
    parameters,
    offers,
    records,
    options,
    catalogue,
    readings,
    equations,
    laws,
    invariants,
    beyond,
    mutants,
    shown,
    threads,
)
LEDGER = (verdicts, refuted, errata, chains, claims, loose)
DRAWN = (overview, families)
TABLES: dict[str, Callable[[], str]] = {f.__name__: f for f in (*PAGES, *DRAWN, *LEDGER)}


def main(arguments: Sequence[str]) -> int:
    stale = []
    for page in (HERE.parent / "README.md", *sorted(HERE.glob("*.md"))):
        old = page.read_text(encoding="utf-8")
        new = PLACE.sub(lambda m: f"{m[1]}{TABLES[m['name']]()}{m[3]}", old)
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
