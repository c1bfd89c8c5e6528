"""``fedspec report``: a page that needs nothing else, says what the table says, and lets no words of a subject act."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest
from test_judge.diagnosing import benched
from test_judge.results import asked, printed, result, wrong
from test_judge.subjects.behind import Behind, moved
from test_judge.support import inside, py

from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.seen.course import followed
from fedspec_suite.judge.expected_failures import Complaint, Expectation
from fedspec_suite.measure.verdict import Conformity, Course, Deviation, Result, Status, Unseen
from fedspec_suite.report import results_page, sentences
from fedspec_suite.report.deviation_plot import picture
from fedspec_suite.report.results_file import ResultsFile, Run

EVIL = """<script>alert(1)</script><img src=x onerror=a()> "' onload="b()" </style>&lt; \ud800\x1b[31m"""
RUN = Run("0.1.0", "3.11.7", "2.4.6", "2026-11-26", "quick", 7)
COURSE = Course(
    "x", "fedavg/server, eta=0.5", ("round 1", "round 2", "round 3"), (0.0, 0.25, 0.5), (1e-15, 1e-15, 2e-15)
)
HERE = Deviation("fedavg.step", "round 2", 1, got=0.25, want=0.5, ratio=1e15)
CALL = "fedavg/server, round 2, eta=0.5"
FAILED = wrong(
    "the mean is uniform at fedavg.delta (ratio 0.2)",
    asked("follows-x", Status.FAIL, deviation=HERE, call=CALL),
    asked("mean", Status.SKIP, reason="skipped: nothing is shown"),
    asked("rests"),
    first_deviation=f"{CALL}; fedavg.step; got[1] 0.25, want 0.5; ratio 1e+15",
    course=COURSE,
    capsule="kept/a.json",
)
PART = result(
    Conformity.IN_PART,
    asked("follows-x"),
    algorithm="fednova",
    seen=("x",),
    unseen=(Unseen("fednova.tau_eff", "tau_eff = ...", ("tau_eff",)),),
)
OFFERS = [
    result(Conformity.CONFORMS, asked("follows-x"), algorithm="sgd"),
    PART,
    result(Conformity.INCONCLUSIVE, asked("follows-x", Status.INCONCLUSIVE, reason="rounding"), algorithm="fedadam"),
    FAILED,
    result(Conformity.EXPECTED, asked("follows-x", Status.XFAIL, reason="known"), algorithm="fedprox"),
    result(Conformity.ERROR, asked("can-be-asked", Status.ERROR, reason="no"), first_deviation="no", algorithm="yogi"),
]


@dataclass
class Page(HTMLParser):
    """The tags of a page with their attributes, and its words; every tag is closed in order."""

    source: str
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [given for name, given in self.tags if name == tag]


def paged(results: list[Result], **more: Any) -> Page:
    return Page(results_page.page([ResultsFile("r.jsonl", tuple(results), (RUN,) * len(results))], **more))


ALLOWED = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "section", "article", "details", "summary"),
    *("h1", "h2", "h3", "p", "span", "b", "ul", "li", "dl", "div", "dt", "dd", "pre", "code"),
    *("figure", "figcaption", "svg", "path", "circle", "text", "table", "thead", "tbody", "tr", "th", "td"),
}


def alone(page: Page) -> None:
    """Check that the page loads and runs nothing."""
    assert {name for name, _ in page.tags} <= ALLOWED
    names = {n for _, given in page.tags for n in given}
    assert not {n for n in names if n.startswith("on") or n in {"src", "href", "srcset", "style", "action", "data"}}
    (style,) = re.findall(r"<style>(.*?)</style>", page.source, re.DOTALL)
    assert "url(" not in style and "@import" not in style
    policies = [given["content"] for given in page.named("meta") if "http-equiv" in given]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_a_page_asks_for_nothing_and_runs_nothing() -> None:
    alone(paged(OFFERS))


def everywhere(text: str) -> list[Result]:
    """Results in which every word that a subject may choose is this one."""
    deviation = Deviation(text, f"{text} 1", 0, 1.0, 2.0, 1e9, text, text)
    o = asked("follows-x", Status.FAIL, deviation=deviation, call=text)
    course = replace(COURSE, quantity=text, call=text, where=(f"{text} 1", text, "round 3"))
    said = {"subject": text, "version": text, "notes": text, "command": text, "course": course, "reading": text}
    error = asked(text, Status.ERROR, text, reason=text, detail=f"{text}\n{text}")
    skipped = asked("mean", Status.SKIP, reason=text)
    return [
        wrong(f"no known variant; {text}", o, error, skipped, algorithm=text, first_deviation=o.said, **said),
        result(Conformity.ERROR, error, algorithm=text, first_deviation=text, options={text: text}, **said),
        result(Conformity.CONFORMS, asked("follows-x"), limits=(text,), level=text, **said),
        replace(PART, unseen=(Unseen(text, text, (text,)),), seen=(text,)),
        result(Conformity.EXPECTED, asked("follows-x", Status.XFAIL, reason=text), **said),
    ]


def test_words_of_a_subject_are_words() -> None:
    complaint = Complaint(Expectation(EVIL, 2, 7, "sgd", EVIL), EVIL)
    page = paged(everywhere(EVIL), complaints=[complaint])
    alone(page)
    assert page.text.count("<script>alert(1)</script>") > 20
    assert "\x1b" not in page.source and r"\ud800" in page.text
    # With words that could do nothing there are just the same elements.
    plain = paged(everywhere("words"), complaints=[Complaint(Expectation("e.toml", 2, 7, "sgd", "x"), "y")])
    assert [name for name, _ in page.tags] == [name for name, _ in plain.tags]


def test_it_says_what_the_table_says() -> None:
    page, table = paged(OFFERS), printed(OFFERS)
    heading = re.search(r"<h1>(.*?)</h1>", page.source)
    assert heading is not None and heading[1] == " ".join(line.strip() for line in takewhile(bool, table))
    told = [re.sub(r"<.*?>", "", found) for found in re.findall(r"<h2.*?</h2>", page.source)]
    verdicts = (Conformity.DOES_NOT, Conformity.ERROR, Conformity.INCONCLUSIVE)
    names = dict(zip(map(id, OFFERS), sentences.names(OFFERS), strict=True))
    assert told == [names[id(r)] for verdict in verdicts for r in OFFERS if r.verdict is verdict]
    for r in OFFERS:
        assert names[id(r)] in page.text
        quiet = r.verdict is Conformity.CONFORMS
        assert quiet or (r.said in page.text and sentences.head(r) in page.text), r.verdict
        assert f"{r.passed} of {r.required}" in page.text


def test_what_does_not_conform_is_not_folded_and_all_else_is() -> None:
    source = paged(OFFERS).source
    for words, folded in (
        ("the mean is uniform at fedavg.delta", False),
        ("got", False),
        ("return tau_eff too", True),
        ("1 claim that conforms", True),
        ("1 check skipped", True),
        ("Python</dt>", True),
        ("2026-11-26</dd>", True),
    ):
        before = source[: source.index(words)]
        assert (before.count("<details") > before.count("</details")) is folded, words


def test_the_first_number_that_is_wrong_is_told_in_full() -> None:
    text = paged([FAILED]).text
    for words in (
        f"call{CALL}",
        "equationfedavg.step: x = x + eta Delta",
        "round2",
        "gotx[1] = 0.25",
        "wantx[1] = 0.5",
        f"$ {FAILED.command}",
        "$ fedspec replay kept/a.json mine.py:it",
        "x is off by 0.25 to 0.5 in 2 of 3 rounds; rounding allows 2e-15",
        "seed7",
        "profilequick",
    ):
        assert words in text, words


def test_what_breaks_no_rule_known_is_told_by_its_laws() -> None:
    text = paged([wrong("no known variant", asked("rests", Status.FAIL), asked("mirrors"))]).text
    assert "It breaks" in text and sentences.words("rests") in text
    assert "it holds 1 property" in text and sentences.words("mirrors") in text


def test_an_offer_from_elsewhere_needs_no_catalogue() -> None:
    o = asked("follows-x", Status.FAIL, deviation=replace(HERE, equation="mine.step"))
    text = paged([wrong("x", o, algorithm="mine", reading="none", first_deviation=str(o.deviation))]).text
    assert "equationmine.step" in text and "mine at level server" in text


def dots(c: Course) -> list[tuple[str, float, float]]:
    """Each dot: its kind, how far right, how far above the axis."""
    found = re.findall(r'<circle class="(\w+)" cx="([\d.]+)" cy="([\d.]+)"', picture(c))
    (axis,) = re.findall(r'class="axis" d="M[\d.]+ ([\d.]+)H', picture(c))
    return [(kind, float(x), float(axis) - float(y)) for kind, x, y in found]


def course(*off: float, allowed: float = 1e-12) -> Course:
    return Course("x", "", tuple(f"step {k + 1}" for k in range(len(off))), off, (allowed,) * len(off))


def test_heights_are_in_the_ratio_of_deviations() -> None:
    (a, b, c) = dots(course(1.0, 2.0, 3.0))
    assert [kind for kind, *_ in (a, b, c)] == ["off"] * 3
    assert b[2] == pytest.approx(2 * a[2], abs=0.2) and c[2] == pytest.approx(3 * a[2], abs=0.3)
    assert b[1] - a[1] == pytest.approx(c[1] - b[1], abs=0.2) and a[1] < b[1]


def test_far_apart_each_power_of_ten_is_one_step() -> None:
    heights = [up for _, _, up in dots(course(2e-3, 2e-2, 0.2, 2.0))]
    steps = [b - a for a, b in pairwise(heights)]
    assert steps[0] > 10 and steps == pytest.approx([steps[0]] * 3, abs=0.2)
    # The axis is at the power of ten below.
    assert heights[0] == pytest.approx(steps[0] * math.log10(2), abs=0.2)


def test_what_rounding_explains_is_a_ring_on_the_axis() -> None:
    found = dots(course(0.0, 1e-13, 0.5, 1e-12))
    assert [kind for kind, *_ in found] == ["within", "within", "off", "within"]
    assert [up == 0 for _, _, up in found] == [True, True, False, True]


@pytest.mark.parametrize("off", [(5e-324, 1.7e308), (1.7e308, 1.7e308), (5e-324,), (0.0,), (1e-300, 1e-310, 1e9)])
def test_any_numbers_can_be_drawn(off: tuple[float, ...]) -> None:
    assert all(0 <= up < 200 for _, _, up in dots(course(*off, allowed=0.0)))


def last(x: Any, by: float) -> Any:
    """A model whose last number is moved."""
    x.flat[-1] += by
    return x


def off_by(by: Callable[[int], float]) -> Course | None:
    bench, setting = benched(Behind("fedavgm", "server", take=moved(lambda k, x: last(x, by(k)))))
    return followed(bench, setting, samples_of(setting))


def test_a_course_has_the_size_of_what_was_added() -> None:
    c = off_by(lambda k: 0.25 * k)
    assert c is not None and len(c.off) >= 8
    assert c.where[:2] == ("round 1", "round 2") and c.call.startswith("fedavgm/server")
    assert c.off == pytest.approx([0.25 * k for k in range(len(c.off))], abs=1e-9)
    assert [off > allowed for off, allowed in zip(c.off, c.allowed, strict=True)] == [k > 0 for k in range(len(c.off))]


def test_there_is_no_course_where_nothing_deviates() -> None:
    assert off_by(lambda k: 0.0) is None


@pytest.mark.slow
def test_a_real_run_ends_in_a_page(tmp_path: Path) -> None:
    lines, page, direct = (tmp_path / name for name in ("r.jsonl", "p.html", "d.html"))
    few = ("--profile", "quick", "--jobs", "1", "--law", "follows-x", "--only", "fedavg/server/mcmahan-2017")
    files = ("--report", str(lines), "--report", str(direct))
    ran = inside("check", py("wrong:late"), py("right:fedavg"), *few, *files)
    made = inside("report", str(lines), "-o", str(page))
    assert (ran.code, made.code) == (1, 0)
    assert made.out.splitlines()[0] == ran.out.splitlines()[0]
    assert ran.out.startswith("1 of 2 claims does not conform, 1 follows x in quick cases; ")
    assert made.out.splitlines()[1:] == [f"written: {page}"]
    found = Page(page.read_text(encoding="utf-8"))
    alone(found)
    assert len(found.named("svg")) == 1 and "Late 1 fedavg" in found.text
    assert "only the checks follows-x" in found.text
    # The same, but for the name of the file.
    assert found.text.replace(f"file{lines}", "") == Page(direct.read_text(encoding="utf-8")).text
