"""``fedspec list``, ``show`` and ``graph``: what they print at which width, and what they say to programs."""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import Any

import pytest
from test_judge.support import ROOT, Ran, inside

from fedspec.catalogue import CATALOGUE, FAMILIES, Algorithm, Family
from fedspec_properties.reductions import EDGES
from fedspec_suite.laws import all_laws
from fedspec_suite.report.source import text_of

pytestmark = pytest.mark.table(10)

SECTIONS = ("equations", "hyper-parameters", "readings", "laws that", "reductions", "costs", "traps")


@cache
def page_of(name: str) -> dict[str, Any]:
    (page,) = inside("show", name, "--json").rows
    return page


def shown(name: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> Ran:
    monkeypatch.setenv("COLUMNS", str(columns))
    return inside("show", name, "--all")


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_a_page_has_everything_and_fits(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = shown("scaffold", columns, monkeypatch)
    assert ran.code == 0
    heads = [line for line in ran.out.splitlines() if line and not line.startswith(" ")]
    for section in SECTIONS:
        assert any(line.startswith(section) for line in heads), section
    assert max(map(len, ran.out.splitlines())) <= columns
    assert "Karimireddy" in ran.out and "c moves by 1/N" in ran.out and "2 m d" in ran.out


def test_usual_values_are_printed_where_an_algorithm_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown("joint-direct", 200, monkeypatch).out
    (line,) = [line for line in page.splitlines() if line.startswith("eta_l ") and "client learning rate" in line]
    assert "0.1; 0.01 in 3 readings" in line
    assert page_of("joint-direct")["usual"]["uncorrected"]["eta_l"] == 0.01
    assert page_of("adam")["usual"] == {reading: {} for reading in page_of("adam")["readings"]}
    assert "usual" not in shown("adam", 200, monkeypatch).out


def test_symbols_are_printed_where_a_row_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    page = shown("dsgd", 80, monkeypatch).out
    (line,) = [line for line in page.splitlines() if line.startswith("eta_l") and line.split()[-1] == "gamma"]
    assert page.index("\nsymbols") < page.index(line) < page.index("\nhyper-parameters")
    assert "\nsymbols" not in shown("adam", 80, monkeypatch).out


@pytest.mark.parametrize("a", [a for a in CATALOGUE.values() if a.symbols], ids=lambda a: a.id)
def test_symbols_stand_for_names_that_the_page_uses(a: Algorithm) -> None:
    page = page_of(a.id)
    said = [page["box"], page["code"], *(e["text"] for e in page["equations"]), *map(str, page["costs"].values())]
    names = {*re.findall(r"\w+", " ".join(said)), *a.numbers, *a.shows}
    assert page["symbols"] == dict(a.symbols)
    assert set(a.symbols) <= names
    assert all(theirs and theirs != ours for ours, theirs in a.symbols.items())


def test_rows_of_papers_that_write_other_letters_say_so() -> None:
    """FedNova's one rate is eta, Fed-LAMB's model theta, AFGA counts rounds by r; FedAda2's server has tildes."""
    for a in CATALOGUE.values():
        if a.source.startswith(("FedNova", "Fed-LAMB", "AFGA", "Client-Centric")) or (
            a.source.startswith("FedAda2") and a.family is Family.JOINT and "v0" in a.numbers
        ):
            assert a.symbols, a.id


def test_box_and_code_stand_side_by_side_where_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    wide, narrow = (shown("scaffold", columns, monkeypatch).out for columns in (200, 80))
    (first,) = [line for line in wide.splitlines() if line.startswith("for each participating client i:")]
    assert "def step(h, state, clients, plan):" in first
    assert narrow.index("for each participating client i:") < narrow.index("def step(")
    assert not [line for line in narrow.splitlines() if "participating client" in line and "def " in line]


@pytest.mark.table(5)
@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_every_row_has_a_page(a: object, monkeypatch: pytest.MonkeyPatch) -> None:
    name = getattr(a, "id", "")
    page, row = page_of(name), CATALOGUE[name]
    assert page["box"] and page["prose"] and page["traps"] == list(row.traps)
    assert set(page["costs"]) == {"down", "up", "gossip", "client", "working", "server", "note"}
    assert set(page["laws"]) == set(row.levels) and set(page["domains"]) == set(row.numbers)
    for laws in page["laws"].values():
        assert any(law["reads_rule"] for law in laws) and any(not law["reads_rule"] for law in laws)
        assert {law["id"] for law in laws} <= set(all_laws())
    assert page["family"] in FAMILIES
    assert {e["id"] for e in page["reduces_to"]} == {e.id for e in EDGES if e.source == name}
    assert {e["id"] for e in page["special_cases"]} == {e.id for e in EDGES if e.target == name}
    ran = inside("show", name, "--all")
    assert ran.code == 0 and ran.out.startswith(f"{name}  ") and row.traps[-1][:20] in ran.out
    for columns in ("80", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        brief = inside("show", name).out
        assert f'Claim("{name}", "{row.levels[0]}", "{row.readings[0].name}"' in " ".join(brief.split())
        assert brief.count("\n") <= 60 and f"fedspec show {name} --all" in " ".join(brief.split())
    # The code is code without prose.
    tree = ast.parse(text_of(row).code)
    assert tree.body
    for node in tree.body:
        assert isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is None and node.body


def test_the_guide_names_every_key_of_a_page() -> None:
    guide = (ROOT / "docs" / "fields.md").read_text(encoding="utf-8")
    said = guide.partition("prints a list of one object with these keys:")[2].partition("* the keys of")[0]
    (line, *_) = inside("list", "--json").rows
    assert {*re.findall(r"`(\w+)`", said)} - {"where", "fixes"} | set(line) == set(page_of("fedadam"))


@pytest.mark.parametrize("a", CATALOGUE.values(), ids=lambda a: a.id)
def test_a_page_lists_the_equations_of_every_option(a: Algorithm) -> None:
    listed = {(e["id"], e["text"]) for e in page_of(a.id)["equations"]}
    for reading in a.readings:
        for option, kind in a.options.items():
            for value in kind:
                if reading.fixes.get(option, str(value)) != str(value):
                    # No claim has it: it is another reading's, or nobody's.
                    continue
                chosen = {**a.resolve(reading.name, {}), option: str(value)}
                assert {(e.id, e.text) for e in a.running(chosen)} <= listed, (reading.name, option, value)


def test_the_code_is_what_runs() -> None:
    """A rule that is one expression stands where it is called."""
    assert "    return x + h.eta * delta, " in text_of(CATALOGUE["fedavg"]).code
    assert "def sgd(x, g, *, eta_l):\n    return x - eta_l * g" in text_of(CATALOGUE["sgd"]).code


@pytest.mark.parametrize("columns", [80, 120, 200])
def test_the_graph_prints_every_edge(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    ran = inside("graph")
    assert ran.code == 0
    assert max(map(len, ran.out.splitlines())) <= columns
    for family in {page["family"] for page in inside("graph", "--format", "json").rows}:
        assert family in ran.out.splitlines()
    for e in EDGES:
        assert e.source in ran.out and e.target in ran.out
    said = " ".join(ran.out.split())
    assert said.count("identity") + said.count("points") >= len(EDGES)


def test_the_graph_of_one_algorithm_is_its_neighbourhood() -> None:
    rows = inside("graph", "--of", "fednova", "--format", "json").rows
    assert {r["id"] for r in rows} == {e.id for e in EDGES if "fednova" in {e.source, e.target}}
    assert inside("graph", "fednova", "--format", "json").rows == rows
    text = inside("graph", "--of", "fednova").out
    assert "implied" in text and "sm3-i" not in text


def test_the_graph_as_data() -> None:
    rows = inside("graph", "--format", "json").rows
    assert [r["id"] for r in rows] == [e.id for e in EDGES]
    assert {r["exact"] for r in rows} <= {"fractions", "decimals"}
    assert {r["symbolic"] for r in rows} <= {"identity", "points"}
    assert all(r["when"] and r["cited"] and r["levels"] for r in rows)


def test_the_graph_for_mermaid() -> None:
    lines = inside("graph", "--format", "mermaid").out.splitlines()
    assert lines[0] == "flowchart LR"
    boxes = {m[1]: m[2] for line in lines if (m := re.fullmatch(r'    (\w+)\["([\w-]+)"\]', line))}
    arrows = {m.groups() for line in lines if (m := re.fullmatch(r"  (\w+) -->(?:\|[\d, ]+\|)? (\w+)", line))}
    assert {(boxes[a], boxes[b]) for a, b in arrows} == {(e.source, e.target) for e in EDGES}
    assert sum(line.startswith("  subgraph") for line in lines) == sum(line == "  end" for line in lines)
    assert len(lines) == 1 + len(boxes) + len(arrows) + 2 * sum(line == "  end" for line in lines)


def test_the_graph_for_graphviz() -> None:
    text = inside("graph", "--format", "dot").out
    arrows = re.findall(r'^  "([\w-]+)" -> "([\w-]+)" \[label="(?:[^"\\]|\\.)*"\];$', text, re.MULTILINE)
    assert sorted(arrows) == sorted((e.source, e.target) for e in EDGES)
    assert text.count("{") == text.count("}")


def test_what_the_graph_refuses() -> None:
    inside("graph", "--of", "fedbest").refused("'fedbest'", "nearest: fedsam, fedexp, fedatt", "`fedspec list`")
    inside("graph", "fednova", "--of", "fedavg").refused("fednova and fedavg")
    ran = inside("graph", "--format", "gif")
    assert ran.code == 2 and "mermaid" in ran.err and "Traceback" not in ran.err


def test_a_box_is_what_is_computed_not_what_is_refused() -> None:
    assert "Error:" not in inside("show", "lamb", "--all").out and "Raises" not in inside("show", "lamb", "--all").out


def test_an_equation_is_that_of_the_algorithm_not_of_its_rule_elsewhere() -> None:
    assert [e.text for e in CATALOGUE["fedbuff"].equations if e.id == "cc.delta_i"] == ["delta_i = x - x_mu"]
    assert [e.text for e in CATALOGUE["cc-fedavg"].equations if e.id == "cc.delta_i"] == ["delta_i = (x - x_mu) / K"]
