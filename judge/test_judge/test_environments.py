"""The wheel beside the oldest and the newest packages that pyproject.toml allows, and on every Python that it names.

Torch alone stands at the pin of constraints.txt: older and newer ones come from package indexes as CUDA builds of
gigabytes. docs/install.md says where its oldest was run by hand.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from fedspec.errors import SOURCES
from fedspec_suite.subjects import installing

ROOT = Path(__file__).resolve().parents[2]
PROJECTS = {
    name: tomllib.loads((ROOT / place / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for name, place in SOURCES.items()
}
PROJECT = PROJECTS["fedspec"]
JUDGING = {"fedspec": ("suite",)}
TRAINING = JUDGING | {"fedspec-torch": ("fast", "privacy", "simulate")}
PROVING = JUDGING | {"fedspec-proofs": ("solvers", "certify", "privacy")}
"""Distributions with the extras that are installed of each."""
PYTHONS = re.findall(r"Python :: (3\.\d+)", " ".join(PROJECT["classifiers"]))
HERE = "{}.{}".format(*sys.version_info)
"""The Python of the other tests."""
BESIDE_TYPER = "click<8.2"
"""Typer before 0.16 does not say that it needs it; the command says so where it lacks it."""

JUDGED = (
    "check spec --only sgd --only fedavg/server --law follows-* --profile quick",
    f"check py:{ROOT}/examples/mine.py:Adapter --law follows-* --profile quick",
)
TRAINED = ("simulate fedavg --rounds 2 --clients 10 --cohort 2 --out run",)
PROVED = ("claims run fednova.general-rule --jobs 1", "claims certify afga.lemma-f-2")


def oldest(asked: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Every requirement of these distributions and extras at its lower bound."""
    told: list[str] = []
    for name, extras in asked.items():
        of = PROJECTS[name]
        told += [*of["dependencies"], *(r for extra in extras for r in of["optional-dependencies"][extra])]
    own = {r for r in told if not r.startswith(("fedspec", "torch>"))}
    assert all(re.fullmatch(r"[\w-]+>=[\d.]+", r) for r in own), own
    return [*sorted(r.replace(">=", "==") for r in own), BESIDE_TYPER]


def wanted(wheels: Mapping[str, Path], asked: Mapping[str, tuple[str, ...]]) -> list[str]:
    """The wheels with these extras, as requirements."""
    return [f"{name}[{','.join(extras)}] @ {wheels[name].as_uri()}" for name, extras in asked.items()]


def torch_pin() -> str:
    (pin,) = re.findall(r"^torch==\S+$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.M)
    return str(pin)


def found(version: str) -> str | None:
    """An interpreter of a version, if this machine has one that starts."""
    homes = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}"))
    for candidate in filter(None, (shutil.which(f"python{version}"), *map(str, homes))):
        asked = [candidate, "-c", "import venv, ensurepip"]
        if subprocess.run(asked, check=False, capture_output=True).returncode == 0:
            return candidate
    return None


@pytest.fixture
def folder() -> Iterator[Path]:
    """Folder that is deleted afterwards: an environment with torch takes a gigabyte."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def judged(folder: Path, python: str, requirements: list[str], commands: tuple[str, ...]) -> None:
    """Install into a fresh environment, as bundled ones are, and run the commands there, away from the source tree."""
    made = [sys.executable, "-m", "uv", "venv", "-q", "--seed", "--python", python, str(folder / "venv")]
    subprocess.run(made, check=True)
    binaries = folder / "venv" / "bin"
    asked = folder / "requirements.txt"
    asked.write_text("\n".join(requirements), encoding="utf-8")
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    install = [str(binaries / "python"), "-P", installing.__file__, str(asked)]
    subprocess.run(install, check=True, cwd=folder, env={**os.environ, "PATH": path})
    subprocess.run([str(binaries / "python"), "-m", "pip", "check"], check=True, cwd=folder)
    for command in commands:
        words = [str(binaries / "fedspec"), *command.split()]
        ran = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=600, check=False)
        assert ran.returncode == 0 and "Traceback" not in ran.stderr, (command, ran)


@pytest.mark.outside
def test_the_oldest_packages_train(wheels: dict[str, Path], folder: Path) -> None:
    """Apart from the next: the torch of the pin asks for another SymPy than the proofs do."""
    asked = [*wanted(wheels, TRAINING), torch_pin(), *oldest(TRAINING)]
    judged(folder, sys.executable, asked, (*JUDGED, *TRAINED))


@pytest.mark.outside
def test_the_oldest_packages_prove(wheels: dict[str, Path], folder: Path) -> None:
    judged(folder, sys.executable, [*wanted(wheels, PROVING), *oldest(PROVING)], (*JUDGED[:1], *PROVED))


@pytest.mark.outside
def test_the_newest_packages(wheels: dict[str, Path], folder: Path) -> None:
    asked = [*wanted(wheels, TRAINING | PROVING), torch_pin()]
    judged(folder, sys.executable, asked, (*JUDGED, *TRAINED, *PROVED))


@pytest.mark.table(1)
@pytest.mark.outside
@pytest.mark.parametrize("version", [v for v in PYTHONS if v != HERE])
def test_every_other_python_that_the_classifiers_name(version: str, wheels: dict[str, Path], folder: Path) -> None:
    if (python := found(version)) is None:
        pytest.skip(f"no Python {version} on this machine")
    judged(folder, python, wanted(wheels, JUDGING), JUDGED)


def test_platforms_are_claimed_where_they_were_run() -> None:
    """The page's table says on which Python which packages were run, and when."""
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    dated = page.partition("On Linux, 2026-11-23")[2].partition("\n\n|")[2].partition("\n\n")[0]
    ran = {m[1] for m in re.finditer(r"^\| (3\.\d+)\.\d+ \|", dated, re.M)}
    assert set(PYTHONS) == ran
    systems = [c for c in PROJECT["classifiers"] if c.startswith("Operating System")]
    assert systems == ["Operating System :: POSIX :: Linux"]


def test_a_release_is_proved_on_the_pythons_that_are_named() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    (matrix,) = re.findall(r"^ +python: \[(.*)\]$", text, re.M)
    assert re.findall(r"3\.\d+", matrix) == PYTHONS
    built, without = re.findall(r'python-version: "(.*)"', text), re.findall(r'- \{ python: "(.*?)"', text)
    assert built and {*built, *without} <= set(PYTHONS)


def test_the_claims_that_are_run_outside_are_there() -> None:
    from fedspec_proofs.engines.worst_case.certificates import CERTIFIED
    from fedspec_proofs.ledger import find

    run, certify = (command.split()[2] for command in PROVED)
    assert find(run).id == run and find(certify).id in CERTIFIED


def test_every_extra_of_a_user_is_run() -> None:
    run = TRAINING | PROVING
    left = {extra for name, of in PROJECTS.items() for extra in of["optional-dependencies"].keys() - {*run[name]}}
    assert left == {"browser", "dev", "site", "triton"} and len(oldest(run)) > 15


def test_ci_runs_what_the_readme_says() -> None:
    assert (ROOT / ".ci/run").read_text(encoding="utf-8").splitlines()[-2:] == ["make test", "make outside"]
