"""The code that pages name is there under those names: what they import, and the kinds of row of the catalogue."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from fedspec.catalogue import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.py")]
IMPORTS = re.compile(r"from (fedspec\S*) import (\w+(?:, \w+)*)")


def test_what_pages_import_is_there_and_from_one_place() -> None:
    """A rule's module holds ``init`` too, the state that it begins with: who takes the rule from elsewhere lacks it."""
    places: dict[str, set[str]] = {}
    for page in PAGES:
        for module, names in IMPORTS.findall(page.read_text(encoding="utf-8")):
            for name in names.split(", "):
                places.setdefault(name, set()).add(module)
    walk = "".join(re.findall(r"<!-- new: spec/(\S+?)\.py -->", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")))
    assert [name for name, modules in places.items() if len(modules) > 1 and name != "init"] == []
    for name, modules in places.items():
        for module in modules:
            if module.replace(".", "/") not in walk:
                assert hasattr(importlib.import_module(module), name), f"{module} has no {name}"


def test_the_page_of_the_catalogue_names_the_kinds_of_row() -> None:
    text = (ROOT / "site/fedspec_site/templates/catalogue.md").read_text(encoding="utf-8")
    named = {
        kind: set(re.findall(r"`(\w+)`", levels)) for kind, levels in re.findall(r"^\* `(\w+)`, (.*?):", text, re.M)
    }
    of: dict[str, set[str]] = {}
    for a in CATALOGUE.values():
        of.setdefault(type(a.run).__name__, set()).update(a.levels)
    assert named == of
