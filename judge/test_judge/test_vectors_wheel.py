"""The vectors as a wheel of their own: small, without dependencies, and a test of thirty lines that uses it."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import zipfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import pytest
from test_judge.support import ROOT, inside, python

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

import vectors_wheel

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError
from fedspec_suite.measure.bench import THRESHOLD
from fedspec_suite.vectors.vector import options_of

README = (ROOT / "vectors" / "README.md").read_text(encoding="utf-8")
(CODE,) = re.findall(r"```python\n(.*?)```", README, re.S)


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package as the wheel holds it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("vectors")
    (folder / "fedspec_vectors").mkdir()
    source = ROOT / "vectors" / "fedspec_vectors" / "__init__.py"
    (folder / "fedspec_vectors" / "__init__.py").write_bytes(source.read_bytes())
    # The command that exports them, in this process: it has imported the judge already.
    with patch.object(vectors_wheel.subprocess, "run", lambda command, check: inside(*command[1:])):
        vectors_wheel.lay(folder / "fedspec_vectors" / "v1")
    return folder


@pytest.fixture(scope="module")
def held(package: Path) -> Iterator[ModuleType]:
    """Package of the vectors, imported."""
    sys.path.insert(0, str(package))
    yield import_module("fedspec_vectors")
    sys.path.remove(str(package))
    sys.modules.pop("fedspec_vectors")


@pytest.mark.slow
def test_the_wheel_is_small_and_holds_all(package: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md"):
        (source / name).write_bytes((ROOT / "vectors" / name).read_bytes())
    (package / "fedspec_vectors" / "py.typed").touch()
    (source / "fedspec_vectors").symlink_to(package / "fedspec_vectors")
    build = [sys.executable, "-m", "build", "--wheel", str(source), "--no-isolation", "--outdir", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("fedspec_vectors-*.whl")
    assert wheel.stat().st_size < 1_000_000
    with zipfile.ZipFile(wheel) as names:
        files = {name for name in names.namelist() if name.startswith("fedspec_vectors/")}
        about = names.read(next(n for n in names.namelist() if n.endswith("METADATA"))).decode()
    assert {f"fedspec_vectors/v1/{path.name}" for path in (package / "fedspec_vectors" / "v1").iterdir()} <= files
    assert "fedspec_vectors/py.typed" in files and "Requires-Dist" not in about


def test_it_allows_what_the_judge_allows(held: ModuleType) -> None:
    assert held.SLACK == THRESHOLD


def test_it_needs_python_alone(package: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(package)!r}); import fedspec_vectors as v; print(len(v.algorithms()))"
    ran = python("-I", "-S", "-c", code)
    assert int(ran.stdout) > 80


@pytest.mark.slow
def test_the_test_of_the_readme(package: Path, tmp_path: Path) -> None:
    (said,) = re.findall(r"`(event 1: .*?)`", README.replace("\n", " "))
    for edit, code in (("+ self.eta", 0), ("- self.eta", 1)):
        (tmp_path / "test_mine.py").write_text(CODE.replace("+ self.eta", edit), encoding="utf-8")
        alone = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(tmp_path))
        ran = python(*alone, cwd=tmp_path, env={"PYTHONPATH": str(package), "FEDSPEC_PROFILE": ""})
        assert ran.returncode == code, ran.stdout
    pattern = re.sub(r"-?\\?\d+(\\\.\d+)?", r"-?[\\d./]+", re.escape(said).replace("\\ ", " "))
    assert re.search(pattern, ran.stdout), (pattern, ran.stdout)


def test_of_every_algorithm_the_canonical_reading_and_usual_options_are_taken(held: ModuleType) -> None:
    assert {*held.algorithms()} <= {*CATALOGUE} and len(held.algorithms()) > 80
    for id in held.algorithms():
        row, at = CATALOGUE[id], Counter[str]()
        for level in ("client", "server", "round", "trace"):
            with suppress(ValueError):
                for vector in held.vectors(id, level):
                    case = vector["case"]
                    reading = row.readings[0]
                    assert (case["reading"], options_of(case)) == (reading.stored, row.resolve(reading.name, {}))
                    at[level] += 1
        assert at, id


def numbers(vector: dict[str, Any]) -> list[dict[str, Any]]:
    return [{name: list(map(_float, texts)) for name, texts in want.items()} for want in vector["want"]]


def _float(text: str) -> float:
    p, _, q = text.partition("/")
    return float(p) / float(q or 1)


def test_what_is_wanted_is_right_and_one_number_off_is_not(held: ModuleType) -> None:
    for id in ("fedavg", "fednova", "scaffold", "fedadam"):
        for vector in held.vectors(id, "server"):
            shown = numbers(vector)
            assert held.told(vector, shown) == ""
            shown[-1]["x"][-1] += 1e-9 * max(1, abs(shown[-1]["x"][-1]))
            assert held.told(vector, shown).startswith(f"event {len(shown)}: x[{len(shown[-1]['x']) - 1}] is ")
            shown[0]["x"][0] = math.nan
            assert held.told(vector, shown).startswith("event 1: x[0] is nan, not ")


def test_what_cannot_be_compared_is_said(held: ModuleType) -> None:
    vector = held.vectors("fedavg", "server")[0]
    shown = numbers(vector)
    for wrong, says in (
        (shown[:-1], "got [0-9]+ events, but"),
        ([{"y": [1.0], **s} for s in shown], "event 1: y is none of x, delta"),
        ([{"delta": s["delta"]} for s in shown], "event 1: x is not shown"),
    ):
        with pytest.raises(ValueError, match=says):
            held.told(vector, wrong)
    assert " numbers, not " in held.told(vector, [{**s, "x": [*s["x"], 0.0]} for s in shown])
    for asked, says in (
        (("fedavgg", "server"), "got 'fedavgg', which has no vectors; known: sgd, "),
        (
            ("fedavg", "client"),
            "no vectors of fedavg/client/mcmahan-2017 weights=examples; there are these: fedavg/server",
        ),
        (("fedavg", "server", "nobody-2000"), "fedavg/server/mcmahan-2017 weights="),
    ):
        with pytest.raises(ValueError, match=says):
            held.vectors(*asked)


def test_options_choose(held: ModuleType) -> None:
    assert {v["case"]["options"]["weights"] for v in held.vectors("fedavg", "server", weights="uniform")} == {"uniform"}
    with pytest.raises(FedspecError):
        CATALOGUE["fedavg"].resolve("mcmahan-2017", {"weights": "nobody"})
    with pytest.raises(ValueError, match="weights=examples"):
        held.vectors("fedavg", "server", weights="nobody")
