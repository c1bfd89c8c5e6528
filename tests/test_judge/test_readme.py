"""The README is short and leads to what is there; the numbers that pages give are those of today."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from fedspec_proofs import ledger
from fedspec_proofs.claim import Engine, Verdict

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
DESIGN = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


def page(name: str) -> str:
    return " ".join((ROOT / "docs" / name).read_text(encoding="utf-8").split())


def prose() -> list[str]:
    """The sentences of the README, without its code, tables, lists and pictures."""
    text = re.sub(r"^```.*?^```$|<!-- table.*?end -->|^[#|!*] ?.*?$", "\n\n", TEXT, flags=re.M | re.S)
    text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text)
    return [s.strip() for part in text.split("\n\n") for s in re.split(r"(?<=[.:;])\s+", part) if s.strip()]


PROJECTS = ("pyproject.toml", "impl/pyproject.toml", "proofs_check/pyproject.toml")


def test_it_can_be_read_in_a_minute() -> None:
    assert len(TEXT.splitlines()) <= 124
    assert len(prose()) > 20
    assert [s for s in prose() if len(s.split()) > 25] == []


@pytest.mark.parametrize(
    "file", ["README.md", "CONTRIBUTING.md", *(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_links_lead_to_files_that_are_there(file: str) -> None:
    text = re.sub(r"^```.*?^```", "", (ROOT / file).read_text(encoding="utf-8"), flags=re.M | re.S)
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", text) if "://" not in link]
    assert [link for link in links if not ((ROOT / file).parent / link).exists()] == []


def test_the_example_is_the_file() -> None:
    code, _ = (ROOT / "examples/torch_adam.py").read_text(encoding="utf-8").split("\n\n\n# ruff")
    assert f"```python\n{code}\n```" in TEXT


def test_the_ledger() -> None:
    text = page("claims.md")
    claims = ledger.claims().values()
    refuted = [c for c in claims if c.printed and c.verdict is Verdict.REFUTED]
    assert Engine.SEARCH not in {c.engine for c in refuted}
    assert f"{len(ledger.statements())} rows, {len(claims)} claims" in text
    assert f"{len(refuted)} printed statements and steps of proofs come out" in text
    assert "all of them exactly" in text
    assert f"{len(ledger.variants())} false variants" in text


def test_the_design_names_modules_and_extras_that_are_there() -> None:
    modules = set(re.findall(r"\b(\w+(?:/\w+)*\.py)\b", DESIGN))
    there = [str(path) for path in ROOT.rglob("*.py") if ".venv" not in path.parts]
    assert len(modules) > 20 and not [m for m in modules if not any(p.endswith(f"/{m}") for p in there)]
    for file in PROJECTS:
        extras = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]["optional-dependencies"]
        assert not [extra for extra in extras if f"`[{extra}]`" not in DESIGN], file


def test_what_is_cited_is_this_version() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    cited = {key: rest.strip() for key, colon, rest in (line.partition(":") for line in lines) if colon}
    for file in (*PROJECTS, "vectors/pyproject.toml"):
        project = tomllib.loads((ROOT / file).read_text(encoding="utf-8"))["project"]
        assert (cited["version"], cited["license"]) == (project["version"], project["license"]), file
        assert [cited["  - name"]] == [author["name"] for author in project["authors"]]
