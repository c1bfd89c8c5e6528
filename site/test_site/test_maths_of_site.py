"""The mathematics of the pages is computed, as a reader would, and set beside what the rules compute."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from test_judge.support import inside

from fedspec import server
from fedspec.catalogue import CATALOGUE
from fedspec_site.formulas import box, typeset
from fedspec_suite.report.page import record
from test_site.built import Element, Site, page, requires_sphinx

pytestmark = [pytest.mark.outside, requires_sphinx]

# Between them what a formula here may be made of; each is computed from the element alone.
AGAINST = {"−": -1.0, "+": 1.0}


def value(node: Element, at: Mapping[str, float]) -> float:
    """The number that MathML says, with numbers for its symbols."""
    match node.tag:
        case "mn":
            return float(node.words)
        case "mi":
            return at[node.words]
        case "msub" | "mover":
            return at["".join(leaves(node))]
        case "mfrac":
            above, below = node.within
            return value(above, at) / value(below, at)
        case "msqrt":
            return math.sqrt(row(node.within, at))
        case "msup":
            base, power = node.within
            return value(base, at) ** value(power, at)
        case "mrow":
            return row(node.within, at)
    raise AssertionError(node.tag)


def leaves(node: Element) -> list[str]:
    return [node.words] if not node.within else [word for one in node.within for word in leaves(one)]


def row(nodes: list[Element], at: Mapping[str, float]) -> float:
    """A sum of products: factors stand side by side, brackets around a row are rows of their own."""
    if nodes and nodes[0].words == "(" and nodes[-1].words == ")":
        return row(nodes[1:-1], at)
    total, sign, product, product_known = 0.0, 1.0, 1.0, False
    k = 0
    while k < len(nodes):
        one = nodes[k]
        if one.tag == "mo" and one.words in AGAINST:
            total += sign * product if product_known else 0.0
            sign, product, product_known = AGAINST[one.words], 1.0, False
        elif one.tag == "mo" and one.words in ("", "\u2062", "·"):
            pass
        elif one.tag == "mi" and k + 1 < len(nodes) and nodes[k + 1].words == "\u2061":
            inner = row(nodes[k + 2].within, at)
            product, product_known = product * {"sign": np.sign}[one.words](inner), True
            k += 2
        else:
            product, product_known = product * value(one, at), True
        k += 1
    return total + sign * product


def formulas(site: Site, algorithm: str) -> dict[str, Element]:
    """Formula of each equation that has no words."""
    items = page(site.folder / f"algorithms/{algorithm}.html").find("ol", class_="lines")[0].find("li")
    found = {one.given["id"].rpartition("-")[0]: one.find("math") for one in items}
    return {id: maths[0] for id, maths in found.items() if len(maths) == 1}


def right(formula: Element) -> list[Element]:
    """Right side of a formula."""
    return formula.within[[one.words for one in formula.within].index("=") + 1 :]


NUMBERS: dict[str, float] = {"x": 0.7, "m": 0.3, "v": 0.45, "g": -0.4, "Δ": 0.6, "u": 0.25}
RATES: dict[str, float] = {"β1": 0.8, "β2": 0.95, "η": 0.1, "ηl": 0.2, "τ": 0.01, "ρ": 0.9}


@pytest.mark.parametrize("name", ["fedadam", "fedyogi", "fedadagrad"])
def test_the_formulas_of_an_adaptive_server_are_what_its_rule_computes(site: Site, name: str) -> None:
    at = {**NUMBERS, **RATES}
    for id in (f"{name}.m", f"{name}.v", f"{name}.step"):
        at[{"m": "m", "v": "v", "step": "x"}[id.rpartition(".")[2]]] = row(right(formulas(site, name)[id]), at)
    rule: Any = {"fedadam": server.adam, "fedyogi": server.yogi, "fedadagrad": server.adagrad}[name]
    x, m, v, delta = (np.array([NUMBERS[n]]) for n in ("x", "m", "v", "Δ"))
    rates = {"eta": RATES["η"], "beta1": RATES["β1"], "tau": RATES["τ"]}
    if name != "fedadagrad":
        rates["beta2"] = RATES["β2"]
    got = rule(server.Adaptive(x=x, m=m, v=v, t=0), delta, **rates)
    assert (got.m[0], got.v[0], got.x[0]) == pytest.approx((at["m"], at["v"], at["x"]), rel=1e-14)


def test_the_formulas_of_local_steps_by_hand(site: Site) -> None:
    at = {**NUMBERS, **RATES}
    assert row(right(formulas(site, "sgd")["sgd.step"]), at) == pytest.approx(0.78)
    at["u"] = row(right(formulas(site, "momentum")["momentum.u"]), at)
    assert at["u"] == pytest.approx(-0.175)
    assert row(right(formulas(site, "momentum")["momentum.step"]), at) == pytest.approx(0.735)


def test_most_lines_are_mathematics(site: Site) -> None:
    pages = sorted((site.folder / "algorithms").glob("*.html"))
    lines = [one for file in pages for found in page(file).find("ol", class_="lines") for one in found.find("li")]
    assert len(lines) == sum(len(a.equations) for a in CATALOGUE.values())
    assert sum(bool(one.find("math")) for one in lines) > 0.8 * len(lines)


def test_the_box_is_typeset_and_says_what_the_command_prints(site: Site) -> None:
    maths = typed = 0
    for a in CATALOGUE.values():
        (shown,) = page(site.folder / f"algorithms/{a.id}.html").find("div", class_="box")
        assert shown.words == " ".join(record(a)["box"].split()), a.id
        assert [one.words for one in shown.within] == [" ".join(line.split()) for line in record(a)["box"].splitlines()]
        maths += len(shown.find("math"))
        typed += len([one for part in shown.find("span") for one in part.find("code")])
    assert maths > 900 and typed < 5


def test_formulas_in_the_words_of_readings_and_sources_are_typeset(site: Site) -> None:
    maths = set()
    for a in CATALOGUE.values():
        root = page(site.folder / f"algorithms/{a.id}.html")
        for r in a.readings:
            (part,) = root.find("section", id=f"reading-{r.name}")
            told = part.find("p")[0]
            assert " ".join(r.words.replace("`", "").split()) in told.words, (a.id, r.name)
            maths |= {(a.id, one.given["alttext"]) for one in told.find("math")}
    assert {("fedyogi", "sqrt(v + tau)"), ("fedadam", "v_0 >= tau^2")} <= maths and len(maths) > 80
    assert all(any(sign in formula for sign in [*"-+*/=<>^", "sqrt"]) for _, formula in maths)
    source = page(site.folder / "ledger/afga.theorem-4-6-rate.html").find("dl")[0].find("math")
    assert "O(1/sqrt(RIM))" in [one.given["alttext"] for one in source]


def test_a_name_or_an_option_stays_as_typed() -> None:
    for words in ("cluster_weights = sizes", "as in v_0 of d at lines 12-14", "src/noloco/x.py:51-86", "Theorem 4.6"):
        assert str(typeset(words)) == words
    assert str(typeset("but sqrt(v + tau)")).startswith('but <math alttext="sqrt(v + tau)"><msqrt>')


def test_pseudocode_that_is_no_formula_stays_as_typed() -> None:
    made = str(box("x = f_i(the Model)\n    y = x / 2  (line 3)  sgd.step [epsilon=inside]"))
    assert "<code>x = f_i(the Model)</code>" in made and "<mfrac>" in made
    assert made.endswith("<small>(line 3)</small> <small><code>sgd.step [epsilon=inside]</code></small></div>")
    assert 'style="--in:4"' in made


def test_marked_lines_are_those_of_the_reading(site: Site) -> None:
    """Equations under a reading, as the command prints them, are the canonical ones with the marked lines."""
    for id in ("fedadam", "adam", "fednova", "lamb", "scaffold", "fedasync", "diloco"):
        root = page(site.folder / f"algorithms/{id}.html")
        lines = [one.find("span")[0].words for one in root.find("ol", class_="lines")[0].find("li")]
        for reading in CATALOGUE[id].readings[1:]:
            (part,) = root.find("section", id=f"reading-{reading.name}")
            gone = [one.words for one in part.find("del")]
            here = [one.words for one in part.find("ins")]
            assert set(gone) <= set(lines)
            (told,) = json.loads(inside("show", id, "--reading", reading.name, "--json").out)
            wanted = sorted(" ".join(e["text"].split()) for e in told["equations"])
            kept = list(lines)
            for line in gone:
                kept.remove(line)
            assert sorted([*kept, *here]) == wanted, (id, reading.name)


def test_a_row_shows_its_rules_under_what_it_decides_of_them(site: Site) -> None:
    """FADAS adds eps to the root and FedBuff divides no change by its steps, as their printed equations say."""
    code = {}
    for id in ("fadas", "fedbuff"):
        shown = page(site.folder / f"algorithms/{id}.html").find("ol", class_="lines")[0].find("pre")
        code[id] = [one.words for one in shown]
    assert "x = state.x + eta * m_hat / (sqrt(v_step) + eps)" in code["fadas"]
    assert any("return change" in words for words in code["fedbuff"])
    assert not any("change / steps" in words for words in code["fedbuff"])


@pytest.mark.parametrize(
    ("name", "equation", "below"),
    [("fedatt", "fedatt.a", "∑jexp(sj)"), ("geometric-median", "geometric-median.delta", "∑iβi")],
)
def test_a_sum_divides_with_all_that_it_adds_up(site: Site, name: str, equation: str, below: str) -> None:
    (fraction,) = (one for one in right(formulas(site, name)[equation]) if one.tag == "mfrac")
    assert "".join(leaves(fraction.within[1])).replace("\u2061", "").replace("\u2062", "") == below
