"""Output of ``fedspec show`` about an algorithm: its page and its JSON record."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from functools import partial
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from fedspec.catalogue import Algorithm, LocalSolver
from fedspec.citations import links
from fedspec.contract import Level, Offer
from fedspec.costs import SYMBOLS
from fedspec.domains import DOMAINS
from fedspec.entry import Basis
from fedspec.readings import meanings
from fedspec.rules import Equation, defaults, printed
from fedspec.usual import unsaid, usual
from fedspec_suite.laws import LAWS, Law, all_laws
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.report import cases, graph
from fedspec_suite.report.notes import notes
from fedspec_suite.report.source import described, text_of
from fedspec_suite.report.terminal import table

COSTS = {
    "down": "floats from the server to clients in a round",
    "up": "floats from clients to the server",
    "gossip": "floats between clients",
    "client": "floats that a client keeps from round to round",
    "working": "floats that a client needs while it computes, its gradient apart",
    "server": "floats that the server keeps from round to round",
}


CODE = 20
"""Most lines of code beside the box on the brief page."""

EQUATIONS = 16
"""Most equations on the brief page."""

READING = 100
"""Most characters of a reading's description on the brief page."""

YOURS = "your claim, in `options`"
"""Words for an option that the reading leaves open, so that the claim sets it."""

WIDE = 120
"""Width from which tables have an additional column."""


def laws_at(a: Algorithm, level: Level) -> list[Law]:
    """List the laws and properties that apply to the canonical reading at a level."""
    setting = setting_of(Offer(a.id, level, a.readings[0].name))
    return [law for law in all_laws().values() if not law.why_not(setting, a.shows_at(level), concurrent=True)]


def line(a: Algorithm) -> dict[str, Any]:
    """Return the object that ``fedspec list --json`` prints for an algorithm."""
    return {
        "id": a.id,
        "aliases": dict(a.aliases),
        "title": a.title,
        "family": a.family.value,
        "levels": list(a.levels),
        "hyper": list(a.numbers),
        "options": {n: [v for v in map(str, kind) if v in _values(a, n)] for n, kind in a.options.items()},
        "readings": [r.name for r in a.readings],
        "shows": list(a.shows),
        "equations": [e.id for e in a.equations],
        "source": a.source,
        "basis": a.basis,
    }


def search_text(a: Algorithm) -> str:
    """Return the text that ``fedspec list WORD`` searches: names, title, source, readings, box and prose."""
    box, prose = described(a)
    readings = (word for r in a.readings for word in (r.name, r.told))
    also = (word for alias in a.aliases.items() for word in alias)
    return " ".join((a.id, *also, a.family, a.title, a.source, a.basis, *readings, box, *prose))


def record(a: Algorithm) -> dict[str, Any]:
    """Return the object that ``fedspec show --json`` prints for an algorithm."""
    text = text_of(a)
    return {
        **line(a),
        "equations": [*map(equation, a.equations), *(equation(e, where) for e, where in _others(a).items())],
        "domains": {n: domain(n) for n in a.numbers},
        "usual": {r.name: usual(a, r.name) for r in a.readings},
        "only_with": cases.only_with(a),
        "settable": cases.settable(a),
        "defaults": a.defaults(),
        "definitions": {
            r.name: {
                "words": r.words,
                "fixes": dict(r.fixes),
                "requires": [q.words for q in r.requires],
                "formerly": list(r.formerly),
            }
            for r in a.readings
        },
        "box": text.box,
        "prose": list(text.prose),
        "code": text.code,
        "general": text.options,
        "served": text.served,
        "notes": list(notes(a, (*a.equations, *_others(a)))),
        "laws": {
            level: [
                {"id": law.id, "words": law.words, "reads_rule": law.reads_rule, "property": law.id not in LAWS}
                for law in laws_at(a, level)
            ]
            for level in a.levels
        },
        "reduces_to": [graph.row(e) for e in graph.around(a.id) if e.source == a.id],
        "special_cases": [graph.row(e) for e in graph.around(a.id) if e.target == a.id],
        "meanings": {n: said for n, kind in a.options.items() if (said := meanings(kind))},
        "decided_by": {n: _decided(a, n) for n in a.options},
        "shapes": cases.shapes(a),
        "starts": cases.starts(a),
        "cases": {level: cases.holds(a, level) for level in a.levels},
        "costs": asdict(a.costs),
        "traps": list(a.traps),
        "symbols": dict(a.symbols),
    }


def show(a: Algorithm, out: Console, *, whole: bool = False) -> None:
    """Print the box, the equations, the readings and an example claim; with ``whole``, every section."""
    out.print(Text.assemble((a.id, "bold"), f"  {a.title}"))
    out.print(Text(f"source: {a.source}", style="dim"))
    if to := links(a.source):
        out.print(Text(f"        {' '.join(to.values())}", style="dim"))
    if whole and a.basis is not Basis.UNSAID:
        out.print(Text(f"typed after {a.basis.words}", style="dim"))
    if whole and re.search(r"\bL\d", a.source):
        out.print(Text("L149 and the like: lines of the text that was specified; see `fedspec papers`", style="dim"))
    for name, words in a.aliases.items():
        out.print(Text(f"also {name}: {words}", style="dim"))
    for part in WHOLE if whole else BRIEF:
        for block in part(a, out.width):
            out.print(block)


def show_general(a: Algorithm, out: Console) -> None:
    """Print the code with its branches for all readings and options."""
    text = text_of(a)
    out.print(
        Text("the text that runs, with an option for each choice; and what it calls beside arithmetic", style="dim")
    )
    # Not wrapped: it is there to be copied.
    out.print(Text(text.options or text.code), soft_wrap=True)
    if text.served:
        out.print(Text("\nits server alone, at level server", style="dim"))
        out.print(Text(text.served), soft_wrap=True)


def _others(a: Algorithm) -> dict[Equation, str]:
    """The equations that stand in the place of canonical ones under other options, each with these options."""
    known, own, found = set(a.equations), a.options.keys(), dict[Equation, str]()
    usual = a.resolve(a.readings[0].name, {})
    for rule in a.rules:
        # The values of options under which alone the rule runs.
        only = [said.partition("=")[::2] for said, rules in a.when.items() if rule in rules]
        for e in printed(rule):
            where = dict.fromkeys((*only, *sorted(e.when)))
            if e in known:
                continue
            # What the row has settled is no option of its.
            free = [(option, value) for option, value in where if a.under.get(option) != value]
            if {option for option, _ in free} <= own and _can_be_claimed(a, free):
                # What has no condition runs where the rule's own values do.
                said = free or (_settled(a, e) if where else [])
                others = [f"{option} = {value}" for option, value in said if usual[option] != value]
                others = others or [f"{option} = {value}" for option, value in _withheld(a, rule, e)]
                found |= {e: ", ".join(others)} if others else {}
    return found


def _settled(a: Algorithm, e: Equation) -> list[tuple[str, str]]:
    """The options that the first reading with an equation settles; none if no reading has it."""
    return next(([*r.fixes.items()] for r in a.readings if e in a.running(a.resolve(r.name, {}))), [])


def _withheld(a: Algorithm, rule: Callable[..., Any], e: Equation) -> list[tuple[str, str]]:
    """Usual options of the row beyond the options that an equation asks for, at the values that are the rule's own."""
    usual = {said for known in a.equations if known.id == e.id for said in known.when}
    own = [(option, defaults(rule)[option]) for option, _ in sorted(usual - {*e.when})]
    return own if {option for option, _ in own} <= a.options.keys() and _can_be_claimed(a, own) else []


def _can_be_claimed(a: Algorithm, where: Iterable[tuple[str, str]]) -> bool:
    """True if a reading settles these values of options, or leaves them to the subject."""
    return any(all(r.fixes.get(option, value) == value for option, value in where) for r in a.readings)


def _values(a: Algorithm, option: str) -> list[str]:
    """The values of an option that can be claimed, its default first."""
    default = a.defaults()[option]
    values = dict.fromkeys((default, *map(str, a.options[option])))
    return [value for value in values if _can_be_claimed(a, [(option, value)])]


def equation(e: Equation, where: str = "") -> dict[str, str]:
    """Return an equation as a JSON object."""
    return {"id": e.id, "text": e.text, "rule": e.rule, **({"where": where} if where else {})}


def domain(name: str) -> dict[str, str]:
    """Return the domain and meaning of a hyper-parameter as a JSON object."""
    return {"domain": DOMAINS[name].domain.words, "meaning": DOMAINS[name].meaning}


def started(a: Algorithm, starts: Mapping[str, str]) -> Text:
    """Format the initial values, before the first step."""
    where = " of the server" if any(n.endswith("_l") and n != "eta_l" for n in a.numbers) else ""
    return Text(f"before the first step{where}: {', '.join(f'{n} = {words}' for n, words in starts.items())}")


def head(words: str) -> Text:
    """Format the heading of a table."""
    return Text(f"\n{words}", style="bold")


def _first(a: Algorithm, width: int) -> Iterator[Any]:
    yield from ("", Text(text_of(a).prose[0]))


def _text(a: Algorithm, width: int) -> Iterator[Any]:
    """The first words, box and code, and the rest of the words."""
    text = text_of(a)
    yield from _first(a, width)
    yield from _box(a, width, code_too=True)
    if text.options:
        other = f"`fedspec show {a.id} --reading NAME`" if len(a.readings) > 1 else "`--option NAME=VALUE`"
        yield Text(f"another reading: {other}; every option: `fedspec show {a.id} --general`", style="dim")
    for paragraph in text.prose[1:]:
        yield from ("", Text(paragraph))


def _box(a: Algorithm, width: int, *, code_too: bool = False) -> Iterator[Any]:
    """The box, and the code beside it if there is room; else the code below it, on the whole page."""
    text = text_of(a)
    box, code = Text(text.box), Text(text.code)
    of_code = f"the text that runs, under {a.readings[0].name}" if text.options else "the text that runs"
    widest = [max(map(len, t.splitlines())) for t in (text.box, text.code)]
    if sum(widest) + 4 <= width and (code_too or len(text.code.splitlines()) <= CODE):
        side = Table.grid(padding=(0, 4))
        side.add_column(no_wrap=True)
        side.add_column(no_wrap=True)
        side.add_row(Text("pseudocode, in our words", style="dim"), Text(of_code, style="dim"))
        side.add_row(box, code)
        yield from ("", side)
    else:
        # A remark at a line's end comes nearer if the line is too long.
        near = [line if len(line) <= width else re.sub(r" {3,}\(", "  (", line) for line in text.box.splitlines()]
        yield from ("", Text("pseudocode, in our words", style="dim"), Text("\n".join(near)))
        yield from (Text(f"\n{of_code}", style="dim"), code) if code_too else ()


def _canonical(a: Algorithm, width: int, most: int = EQUATIONS) -> Iterator[Any]:
    """The last equations, which are the server's, and how many come before them."""
    left = max(0, len(a.equations) - most)
    t = table("id", "equation", *(["rule"] if width >= WIDE else []))
    for e in a.equations[left:]:
        t.add_row(e.id, Text(e.text), *([e.rule.removeprefix("fedspec.")] if width >= WIDE else []))
    yield from (head("equations of the canonical reading" + f" (before these: {left} more)" * bool(left)), t)


def _equations(a: Algorithm, width: int) -> Iterator[Any]:
    yield from _canonical(a, width, len(a.equations))
    if others := _others(a):
        t = table("id", "equation", "where")
        for e, where in others.items():
            t.add_row(e.id, Text(e.text), where)
        yield from (head("equations in their place under other options"), t)
        if max(Counter(e.id for e in others).values()) > 1:
            yield Text("of several that fit, the one with most conditions", style="dim")
    for note in notes(a, (*a.equations, *others)):
        yield Text(note, style="dim")


def _symbols(a: Algorithm, width: int) -> Iterator[Any]:
    if a.symbols:
        t = table("here", "in the source")
        for ours, theirs in a.symbols.items():
            t.add_row(ours, Text(theirs))
        yield from (head("symbols"), t)


def _parameters(a: Algorithm, width: int) -> Iterator[Any]:
    trains = not isinstance(a.run, LocalSolver)
    t = table("name", "domain", *["usual"] * trains, "meaning", "levels")
    only = cases.only_with(a)
    for n in a.numbers:
        said = domain(n)
        meaning = said["meaning"]
        meaning += f"; only with {only[n]}" if n in only else ""
        for wanted in dict.fromkeys(q.words for r in a.readings for q in r.requires if q.about == (n,)):
            asking = [r.name for r in a.readings if wanted in {q.words for q in r.requires}]
            meaning += f"; {wanted} by {'every reading' if len(asking) == len(a.readings) else ' and '.join(asking)}"
        levels = ", ".join(level for level in a.levels if n in a.numbers_at(level))
        t.add_row(n, said["domain"], *([_usual(a, n)] if trains else []), meaning, levels)
    yield from (head("hyper-parameters"), t)
    if trains:
        yield Text("usual: what simulate takes where it is not given, or the default; tuned for nothing", style="dim")
    for words in cases.settable(a):
        yield Text(words, style="dim")
    if a.options:
        t = table("option", "values (default first)", "decided by")
        for n in a.options:
            t.add_row(n, ", ".join(_values(a, n)), _decided(a, n))
        yield from (head("options"), t)
        t = table("option", "value", "meaning")
        for n, kind in a.options.items():
            for value, words in meanings(kind).items():
                if value in _values(a, n):
                    t.add_row(n, value, Text(words))
        if t.rows:
            yield from (head("what their values mean"), t)


def _usual(a: Algorithm, name: str) -> str:
    """The default of a hyper-parameter: in the canonical reading first, and in those where it is another."""
    found: dict[float, list[str]] = {}
    for r in a.readings:
        if (value := unsaid(a, r.name).get(name)) is not None:
            found.setdefault(value, []).append(r.name)
    if not found:
        if name not in a.plays:
            return "none"
        # It plays a part under an option that no reading settles.
        option, _, chosen = a.plays[name][0].partition("=")
        found = {unsaid(a, given={option: chosen})[name]: []}
    first, *others = found
    return "; ".join((f"{first:g}", *(f"{value:g} in {_some(found[value])}" for value in others)))


def _some(readings: list[str]) -> str:
    return readings[0] if len(readings) == 1 else f"{len(readings)} readings"


def _decided(a: Algorithm, option: str) -> str:
    fixing = [r.name for r in a.readings if option in r.fixes]
    if len(fixing) == len(a.readings):
        return "the reading"
    only = f", only with {' or '.join(a.plays[option])}".replace("=", " = ") if option in a.plays else ""
    yours = f"{YOURS}{only}"
    return f"{yours}; but by the reading {' or '.join(fixing)}" if fixing else yours


def _readings(a: Algorithm, width: int, brief: bool = False) -> Iterator[Any]:
    settles = not brief and width >= WIDE and any(r.fixes for r in a.readings)
    asks = not brief and any(r.requires for r in a.readings)
    t = table("reading", "meaning", *["settles"] * settles, *["asks"] * asks)
    for r in a.readings:
        alone = f"; at level {' and '.join(r.levels)} alone" if r.levels else ""
        said = r.told + alone
        if brief:
            said = textwrap.shorten(re.sub(r" \([^()]*\d{3}[^()]*\)$", "", said), READING, placeholder=" ...")
        fixed = ", ".join(f"{n} = {value}" for n, value in r.fixes.items())
        wanted = ", ".join(q.words for q in r.requires)
        t.add_row(r.name, Text(said), *[fixed] * settles, *[wanted] * asks)
    yield from (head("readings (canonical first)"), t)


def _shown(a: Algorithm, width: int) -> Iterator[Any]:
    yield Text(f"\nquantities that an adapter may return beside x: {intermediates(a)}")


def intermediates(a: Algorithm, levels: Collection[Level] = ()) -> str:
    """List the intermediates that an adapter may return, with shapes, and levels if not all levels have them."""
    levels, long = levels or a.levels, cases.shapes(a)
    where = {n: [level for level in levels if n in a.shows_at(level)] for n in a.shows}
    only = {n: f"(at level {' and '.join(there)} alone)" * (there != [*levels]) for n, there in where.items() if there}
    return ", ".join(" ".join(filter(None, (n, long.get(n, ""), only[n]))) for n in only) or "none"


def _claim(a: Algorithm, width: int) -> Iterator[Any]:
    """Claim of the canonical reading, and the choices of an adapter."""
    free = [n for n in a.options if _decided(a, n).startswith(YOURS)]
    options = ", ".join(f'"{n}": "{_values(a, n)[0]}"' for n in free)
    yield head("how to claim it")
    for k, level in enumerate(a.levels):
        shown = [f'"{n}"' for n in a.shows if n in a.shows_at(level)]
        said = (
            *(f'"{word}"' for word in (a.id, level, a.readings[0].name)),
            *([f"{{{options}}}"] if free else []),
            *([f"intermediates=({', '.join(shown)}{',' * (len(shown) == 1)})"] if shown else []),
        )
        if k == 0 or a.shows_at(level) != a.shows_at(a.levels[0]):
            yield Text(f"Claim({', '.join(said)})")
    yield Text(f"levels: {', '.join(a.levels)}; hyper-parameters: {', '.join(a.numbers) or 'none'}", style="dim")
    if free:
        chosen = "; ".join(f"{n} = {', '.join(_values(a, n))}" for n in free)
        yield Text(f"options that you choose (default first): {chosen}", style="dim")
    if {"v0", "tau"} <= {*a.numbers}:
        yield Text('if v_0 is tau^2 in your code, add options={"v0": "tau-squared"}', style="dim")
    yield Text(f"\nto write the adapter: fedspec adapter {a.id} --level {a.levels[0]}")
    yield Text(f"code, domains, laws, costs, traps and more: fedspec show {a.id} --all")


def _cases(a: Algorithm, width: int) -> Iterator[Any]:
    if starts := cases.starts(a):
        yield started(a, starts)
    yield head("what a case may hold")
    t = table("level", "what")
    for level in a.levels:
        for k, words in enumerate(cases.holds(a, level)):
            t.add_row("" if k else level, Text(words))
    yield t


def _laws(a: Algorithm, width: int) -> Iterator[Any]:
    yield head("laws that `fedspec check` asks, and properties that --properties adds")
    t = table("level", "laws", "properties")
    for level in a.levels:
        ids = [law.id for law in laws_at(a, level)]
        t.add_row(level, ", ".join(i for i in ids if i in LAWS), ", ".join(i for i in ids if i not in LAWS))
    yield t


def _reductions(a: Algorithm, width: int) -> Iterator[Any]:
    near = graph.around(a.id)
    for words, edges in (
        (f"reductions: {a.id} is", [(e.target, e) for e in near if e.source == a.id]),
        (f"special cases: {a.id} is what these are", [(e.source, e) for e in near if e.target == a.id]),
    ):
        if edges:
            t = table("algorithm", "when", "checked in")
            for other, e in edges:
                t.add_row(other, Text(graph.restriction(e)), graph.checked(e))
            yield from (head(words), t)


def _costs(a: Algorithm, width: int) -> Iterator[Any]:
    t = Table.grid(padding=(0, 3))
    costs = asdict(a.costs)
    for name, words in COSTS.items():
        if costs[name] != "0":
            t.add_row(Text(costs[name]), words)
    used = [n for n in SYMBOLS if any(n in costs[name].replace("(", " ").replace(")", " ").split() for name in COSTS)]
    yield from (head("costs"), t)
    if a.costs.note:
        yield Text(a.costs.note)
    yield Text("; ".join(f"{n}: {SYMBOLS[n]}" for n in used), style="dim")


def _traps(a: Algorithm, width: int) -> Iterator[Any]:
    yield head("traps, in the canonical reading" if len(a.readings) > 1 else "traps")
    for trap in a.traps:
        bullet = Table.grid(padding=(0, 1))
        bullet.add_row("*", Text(trap))
        yield Padding(bullet, (0, 0, 0, 0))


BRIEF = (_first, _box, _canonical, partial(_readings, brief=True), _claim)
WHOLE = (
    *(_text, _equations, _symbols, _parameters, _readings, _shown),
    *(_cases, _laws, _reductions, _costs, _traps),
)
"""Sections of the whole page; ``BRIEF`` has the sections of the brief page."""
