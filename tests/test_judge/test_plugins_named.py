"""However an own algorithm is named, as a file, a module or an installed package: the same is made of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from test_judge.support import with_own


class Named(NamedTuple):
    """The words of a command that names an algorithm, and where modules are looked for."""

    words: tuple[str, ...]
    path: Path


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Named]:
    """The same text as a file, as a module, in a package, and in one that an entry point names."""
    there = tmp_path_factory.mktemp("named")
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=there).code == 0
    text = (there / "my_gossip.py").read_text(encoding="utf-8")
    for name in ("module", "package/rules", "installed/rules", "installed/rules-1.dist-info", "empty"):
        (there / name).mkdir(parents=True)
    (there / "module" / "gossip_module.py").write_text(text, encoding="utf-8")
    for folder in ("package", "installed"):
        (there / folder / "rules" / "__init__.py").write_text("", encoding="utf-8")
        (there / folder / "rules" / "own.py").write_text(text, encoding="utf-8")
    # The package says rows and mistakes that stand in a module of it.
    said = "from .own import EDGES, MUTANTS, ROW, STEPS\n"
    (there / "installed" / "rules" / "__init__.py").write_text(said, encoding="utf-8")
    info = there / "installed" / "rules-1.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: rules\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[fedspec.algorithms]\nown = rules\n", encoding="utf-8")
    return {
        "file": Named(("--plugin", str(there / "my_gossip.py")), there / "empty"),
        "module": Named(("--plugin", "gossip_module"), there / "module"),
        "package": Named(("--plugin", "rules.own"), there / "package"),
        "installed": Named((), there / "installed"),
    }


OTHERS = ("module", "package", "installed")


@pytest.mark.parametrize("way", OTHERS)
def test_its_mistakes_are_made_where_laws_ask(way: str, ways: dict[str, Named], tmp_path: Path) -> None:
    words, path = ways[way]
    asked = ("mutants", "run", "my-gossip-*", "--law", "peers-unrolled", "--jobs", "1", "--json")
    done = with_own(*asked, *words, cwd=tmp_path, env={"PYTHONPATH": str(path)})
    assert [row["killed"] for row in json.loads(done.out)] == [["peers-unrolled"]] * 2, done.err
    assert done.code == 0


@pytest.mark.parametrize("way", OTHERS)
def test_its_mistakes_are_named(way: str, ways: dict[str, Named], tmp_path: Path) -> None:
    words, path = ways[way]
    judged = ("check", "mutant:my-gossip-undamped", "--law", "follows-x", "--profile", "quick", "--jobs", "1", "--json")
    done = with_own(*judged, *words, cwd=tmp_path, env={"PYTHONPATH": str(path)}, cases=4)
    (result,) = json.loads(done.out)
    assert done.code == 1 and "M = rho M + G" in result["nearest"], done.out


@pytest.mark.parametrize("way", OTHERS)
def test_its_vectors_are_the_same(way: str, ways: dict[str, Named], tmp_path: Path) -> None:
    for name in ("file", way):
        words, path = ways[name]
        make = ("vectors", "make", "my-gossip", "--folder", name, "--jobs", "1")
        done = with_own(*make, *words, cwd=tmp_path, env={"PYTHONPATH": str(path)})
        assert done.code == 0, done.err
    made = [(tmp_path / name / "my-gossip.json").read_text(encoding="utf-8") for name in ("file", way)]
    assert made[0] == made[1] and json.loads(made[0])["vectors"]
