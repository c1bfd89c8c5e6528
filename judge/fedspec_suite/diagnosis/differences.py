"""Equations in which a variant differs from the claim, each as computed and as wanted."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from types import FunctionType
from typing import Any, NamedTuple

from fedspec.catalogue import CATALOGUE
from fedspec.chain import LINKS, Word, formula
from fedspec.errors import FedspecError
from fedspec.folding import decided_of, folding_under
from fedspec.readings import meanings
from fedspec.rules import Equation, equations
from fedspec_suite.diagnosis.plain_words import in_plain_words
from fedspec_suite.diagnosis.variants import BROKEN, Variant, equation_of
from fedspec_suite.diagnosis.written.notation import in_symbols, is_formula
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import Mutant, original, parsed, texts
from fedspec_suite.mutants.mutant import of_name

MOST = 3
"""Largest number of differences that is shown; a variant with more is described by its name alone."""

NOTHING = "(none)"
"""Text in the place of an equation that one side lacks."""


@dataclass(frozen=True)
class Difference:
    """Equation that a variant computes differently.

    Attributes:
        equation: its id; the option's name if an option decides something that no equation says; empty if unknown.
        yours: the variant's equation, or words if no formula says it.
        wanted: the claimed definition's equation; empty if there is none.
    """

    equation: str
    yours: str
    wanted: str


def differences(setting: Setting, v: Variant) -> tuple[Difference, ...]:
    """Return the differences of a variant from the claim; empty if there are more than ``MOST``."""
    found = tuple(_all(setting, v))
    return found if len(found) <= MOST else ()


def _all(setting: Setting, v: Variant) -> Iterator[Difference]:
    """All differences of a variant; of one that combines two, those of each by itself."""
    for half in v.halves:
        yield from _all(setting, half)
    if v.halves:
        return
    yield from _of_options(setting, v)
    yield from _of_edits(setting, v)
    claimed = {d.words: d.claim for d in v.defects}
    for name in v.names:
        if words := name.get("defect", ""):
            yield from _of_words(setting, claimed.get(words, {})) or [_in_words(setting, words, v.equation)]


def claim(setting: Setting, v: Variant) -> dict[str, Any]:
    """Return the fields to change in the claim so that the variant conforms; empty if no claim describes it."""
    row = CATALOGUE[v.algorithm]
    if len(v.defects) == v.parts == 1 and v.defects[0].claim:
        return dict(v.defects[0].claim)
    if v.mutants or v.defects:
        return dict([("schedules", name["schedules"]) for name in v.names if "schedules" in name])
    mine = [r for r in row.readings_at(setting.level) if r.name == setting.reading and row is setting.algorithm]
    for reading in (*mine, *row.readings_at(setting.level)):
        options = {n: w for n, w in v.options.items() if n not in reading.fixes}
        try:
            same = row.resolve(reading.name, options) == {**v.options}
        except FedspecError:
            continue
        if same:
            other = {} if row is setting.algorithm else {"algorithm": row.id}
            named = {} if not other and reading.name == setting.reading else {"reading": reading.name}
            return {
                **other,
                **named,
                **{n: w for n, w in v.options.items() if setting.options.get(n) != w and n not in reading.fixes},
            }
    return {}


SYMBOLS = {"gradients": "g", "messages": "Delta_i"}
"""Symbols of what the words of a claim change, by the claim's field."""


def _of_words(setting: Setting, claim: Mapping[str, tuple[str, ...]]) -> list[Difference]:
    """Formulas of the words that another claim has in the place of the claimed ones; empty if a word has none."""
    out = []
    for field, links in claim.items():
        wanted = getattr(setting, field)
        pairs = [(_formula(field, mine), _formula(field, theirs)) for mine, theirs in _unlike(links, wanted)]
        out += [Difference(field, yours, due) for yours, due in pairs if yours and due]
    return out


def _unlike(mine: Sequence[str], wanted: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The words at places where two chains differ; an empty word where one chain has none."""
    for kind, i, k, j, n in SequenceMatcher(None, mine, wanted, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from zip_longest(mine[i:k], wanted[j:n], fillvalue="")


def _formula(field: str, link: str) -> str:
    """Formula of a word of a claim; the symbol itself where there is no word, and empty where it has no formula."""
    if not link or field not in SYMBOLS:
        return SYMBOLS.get(field, "")
    name, _, number = link.partition(" ")
    return formula(Word(name, float(number)), SYMBOLS[field]) if name in LINKS else ""


def _of_options(setting: Setting, v: Variant) -> Iterator[Difference]:
    """Printed equations that differ; if an option changes none, the meanings of its values."""
    row, mine = CATALOGUE[v.algorithm], _printed(setting.algorithm.running(setting.options))
    theirs = _printed(row.running(v.options))
    changed = [tail for tail in mine if tail in theirs and mine[tail].text != theirs[tail].text]
    lost, new = ([one[t] for t in one if t not in two] for one, two in ((mine, theirs), (theirs, mine)))
    for tail in changed or [""] * bool(lost or new):
        # An equation that one side lacks is read beside the first that both have.
        yours, wanted = ([one[tail].text] if tail else [] for one in (theirs, mine))
        first = tail == (changed or [""])[0]
        yield Difference(
            mine[tail].id if tail else (*lost, *new)[0].id,
            "; ".join([*yours, *(e.text for e in new if first)]) or NOTHING,
            "; ".join([*wanted, *(e.text for e in lost if first)]) or NOTHING,
        )
    for name, value in v.options.items() if row is setting.algorithm else ():
        claimed = setting.options[name]
        if value != claimed and _printed(row.running({**v.options, name: claimed})) == theirs:
            said = meanings(row.options[name])
            meant = [said.get(one, f"{name} = {one}") for one in (value, claimed)]
            # After an equation its meaning says what is known by now.
            meant = [one.partition(": ")[0] if " = " in one.partition(": ")[0] else one for one in meant]
            at = equation_of(setting, BROKEN.get(name, "step"))
            printed = next((e.text for e in mine.values() if e.id == at), "")
            symbol, _, right = meant[1].partition(" = ")
            # A symbol of an equation that stays as it is.
            inside = f", in {printed}" if right and f" {symbol} " in printed.partition(" = ")[2] else ""
            yield Difference(at or name, meant[0], meant[1] + inside)


def _printed(running: tuple[Equation, ...]) -> dict[str, Equation]:
    return {e.id.rpartition(".")[2]: e for e in running}


def _of_edits(setting: Setting, v: Variant) -> Iterator[Difference]:
    """Statements of edited rules that differ, in the notation of the papers; words for what is no formula."""
    if v.kind == "written":
        yield from (Difference(n.get("equation", v.equation), n["yours"], n["wanted"]) for n in v.names)
        return
    for m in v.mutants:
        if found := _of_formulas(setting, v, m):
            yield from found
        else:
            said = next((n["edit"] for n in v.names if "edit" in n), m.words)
            yield _in_words(setting, said, v.equation)


def _in_words(setting: Setting, words: str, equation: str) -> Difference:
    wanted = {e.id: e.text for e in setting.algorithm.running(setting.options)}
    return Difference(equation, in_plain_words(words, setting), wanted.get(equation, ""))


class Line(NamedTuple):
    """Statement: the name that it assigns, True if it is a formula, and its text."""

    name: str
    formula: bool
    text: str


def _of_formulas(setting: Setting, v: Variant, m: Mutant) -> list[Difference]:
    """The formulas that an edit replaces, and those in their place; empty if words are needed."""
    edited = inspect.unwrap(original(m))
    assert isinstance(edited, FunctionType)
    before, after = (definition for text in texts(m) for definition in parsed(text).body)
    assert isinstance(before, ast.FunctionDef) and isinstance(after, ast.FunctionDef)
    # A helper without an equation, such as a root, shows in the rules that call it.
    rules = [] if m.within or equations(edited) else map(inspect.unwrap, setting.algorithm.rules)
    for f in (*rules, edited):
        # What is wanted is the claimed rule, whatever options the edit brings.
        sides = ((before, v.options), (after, {**v.options, **m.options}))
        pairs = [*_pairs(*(_statements(setting, options, m, f, {edited: node}) for node, options in sides))]
        if pairs:
            break
    if not all(old and new and all(line.formula for line in (*old, *new)) for old, new in pairs):
        return []
    printed = {e.id: e.text for e in equations(f, v.options)}
    return [_difference(printed, v.equation, old, new) for old, new in pairs]


def _difference(printed: Mapping[str, str], equation: str, before: list[Line], after: list[Line]) -> Difference:
    alone = next(iter(printed)) if len(printed) == 1 else equation
    at = of_name([*printed], (*before, *after)[0].name) or alone
    # What a function returns has the name that its equation gives it.
    left = f"{printed[at].partition(' = ')[0]} = " if at in printed else ""
    yours, wanted = (
        "; ".join(line.text if line.name else left + line.text for line in some) for some in (after, before)
    )
    symbol, _, kept = wanted.partition(" = ")
    # What is kept as it was made is no equation; what makes it is.
    return Difference(at, yours, printed[at] if kept == symbol and at in printed else wanted)


def _pairs(before: list[Line], after: list[Line]) -> Iterator[tuple[list[Line], list[Line]]]:
    """The statements that differ between two texts."""
    old, new = ([line.text for line in some] for some in (before, after))
    for kind, i, k, j, n in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "replace" and k - i == n - j:
            yield from (([before[i + one]], [after[j + one]]) for one in range(k - i))
        elif kind != "equal":
            yield before[i:k], after[j:n]


def _statements(
    setting: Setting,
    options: Mapping[str, str],
    m: Mutant,
    f: FunctionType,
    definitions: Mapping[FunctionType, ast.FunctionDef],
) -> list[Line]:
    """The statements of a function as the options leave them, with another definition of the edited function."""
    row = setting.algorithm
    folding = folding_under(row, {n: value for n, value in options.items() if n in row.options})
    folding.definitions = definitions
    known = {} if m.within else decided_of(row, folding, f)
    body = folding.within(f, known).node.body
    returned = body[-1].value if isinstance(body[-1], ast.Return) else None
    found = [*_flat(body, set())]
    if isinstance(returned, ast.Name):
        # What is returned by a name has the name that its equation gives it.
        last = max((k for k, line in enumerate(found) if line.name == returned.id), default=None)
        if last is not None:
            found[last] = Line("", found[last].formula, found[last].text.partition(" = ")[2])
    return found


def _flat(body: list[ast.stmt], newer: set[str]) -> Iterator[Line]:
    for s in body:
        match s:
            case ast.Assign(targets=[ast.Name(id=name) as left], value=value) if is_formula(value):
                yield Line(name, True, f"{in_symbols(left, ())} = {in_symbols(value, newer)}")
                newer.add(name)
            case ast.Return(value=ast.Call(args=[], keywords=[_, *_] as fields)):
                for k in fields:
                    said = in_symbols(k.value, newer) if is_formula(k.value) else ast.unparse(k.value)
                    yield Line(str(k.arg), is_formula(k.value), f"{k.arg} = {said}")
            case ast.Return(value=ast.expr() as value) if is_formula(value):
                yield Line("", True, in_symbols(value, newer))
            case _:
                inner = [within for n in ("body", "orelse") for within in getattr(s, n, [])]
                said = ast.unparse(ast.fix_missing_locations(s))
                yield Line("", False, said.partition("\n")[0] if inner else said)
                yield from _flat(inner, newer)
