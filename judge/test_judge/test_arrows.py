"""Imports between rooms: the specification imports no other package, its rules only the ground, each room of the suite
the rooms before it; no modules import each other."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.facts import READ_OFF, Fact

ROOT = Path(__file__).resolve().parents[2]
SPEC, SUITE, PROPERTIES = (ROOT / f for f in ("spec/fedspec", "judge/fedspec_suite", "judge/fedspec_properties"))
MIRROR, TRAINING, USERS = (ROOT / f"impl/fedspec_{name}" for name in ("torch", "train", "use"))
LEDGER = ROOT / "proofs_check/fedspec_proofs"
OTHERS = ("fedspec_torch", "fedspec_train", "fedspec_use", "fedspec_proofs")
"""The packages of the other distributions."""
GROUND = {
    "arith",
    "arrays",
    "scalars",
    "params",
    "records",
    "rules",
    "readings",
    "preconditioner",
    "choices",
    "covers",
    "domains",
    "division",
    "errors",
    "given",
    "linear",
    "plan",
    "population",
}
TEXTS = {"derived", "entering", "deciding", "plugins", "source_text"}
RECORDS = TEXTS | {"definition", "functions", "entry", "costs", "facts", "phrases", "hyper", "contract"}
"""Parts of rows; rules do not import them, but a local solver's file ends in its row."""
ROOMS = (
    *(
        "extensions",
        "own",
        "lora",
        "measure",
        "laws",
        "mutants",
        "subjects",
        "diagnosis",
        "judge",
        "vectors",
        "report",
        "cli",
    ),
)
"""Rooms of the suite, each above the rooms before it."""
MIRROR_ROOMS = (
    *(
        "",
        "data",
        "local",
        "tracing",
        "population",
        "sums",
        "fast_paths",
        "ranks",
        "gradients",
        "ways",
        "federation",
        "run",
        "judged",
    ),
    "tasks",
    "recipes",
)
"""Rooms of the mirror, in the same order; a module in none of them is the ground."""
LEDGER_ROOMS = ("", "engines", "kit", "worst_cases", "papers", "kernel", "stored", "execution", "report", "cli")
"""Rooms of the ledger; a module in none of them is the ground. It imports the papers by name when they are needed."""
DOORS = {"__init__", "api", "plugin"}
"""By which scripts and pytest come in: as far outside as the command."""


def files(folder: Path) -> list[Path]:
    found = sorted(folder.rglob("*.py"))
    assert found
    return found


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Every module that a file imports, wherever in it."""
    return tuple(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield module
            # `from fedspec.client import sgd` imports a module too.
            yield from (f"{module}.{alias.name}" for alias in node.names if module.startswith("fedspec"))


def roots(path: Path) -> set[str]:
    return {name.partition(".")[0] for name in imports(path)}


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def of_part(part: str) -> list[Path]:
    return files(SPEC / part) if (SPEC / part).is_dir() else [SPEC / f"{part}.py"]


def test_the_specification_knows_nobody() -> None:
    known = {"fedspec", "numpy", "jaxtyping", "array_api_compat", "sympy", "z3", *sys.stdlib_module_names}
    assert not {name(path): more for path in files(SPEC) if (more := roots(path) - known)}


ADAPTER = {"arith", "contract", "domains", "errors", "given", "plan", "records", "schema", "wire"}
BESIDE = {"entry", "costs", "facts", "phrases"}
ALONE: dict[str, tuple[list[Path], str, set[str]]] = {
    "local solvers, which end in a row": (files(SPEC / "client"), "fedspec", GROUND | BESIDE | {"client"}),
    "means": (files(SPEC / "mixing"), "fedspec", GROUND | {"mixing"}),
    "servers": (files(SPEC / "server"), "fedspec", GROUND | {"server"}),
    "the ground": ([p for part in GROUND for p in of_part(part)], "fedspec", GROUND | {"__version__"}),
    "records": ([p for part in RECORDS for p in of_part(part)], "fedspec", GROUND | RECORDS),
    "an adapter": ([SPEC / f"{m}.py" for m in ("contract", "plan", "schema", "wire", "serve")], "fedspec", ADAPTER),
    "cases": (files(SUITE / "diagnosis/cases"), "fedspec_suite.diagnosis", {"cases"}),
    "defects": (files(SUITE / "diagnosis/defects"), "fedspec_suite.diagnosis", {"cases", "defects", "edits"}),
    "edits": (files(SUITE / "diagnosis/edits"), "fedspec_suite.diagnosis", {"cases", "defects", "edits"}),
    # Edits are put into copies. What makes the environments runs beside the judge, not in them.
    "mutants": (files(SUITE / "mutants"), "fedspec_suite", {"mutants", "own", "measure"}),
    "subjects": (
        [p for p in files(SUITE / "subjects") if p.name != "environment_builder.py"],
        "fedspec_suite",
        {"subjects", "own"},
    ),
    "what makes environments": (
        [SUITE / "subjects/environment_builder.py"],
        "fedspec_suite",
        {"subjects", "own", "measure"},
    ),
    "properties": (files(PROPERTIES), "fedspec_suite", {"own", "measure", "laws"}),
}
"""Files, with the parts of a package that they may import; they import no other part of it."""


@pytest.mark.parametrize("what", ALONE)
def test_they_stand_on_nothing_else(what: str) -> None:
    paths, package, known = ALONE[what]
    for path in paths:
        for module in imports(path):
            if module.startswith(f"{package}."):
                part = module.removeprefix(f"{package}.").partition(".")[0]
                assert part in known, f"{name(path)} imports {module}"


def below(folder: Path, *left: str) -> list[Path]:
    """The files of a folder, but those of some of its parts."""
    return [path for path in files(folder) if path.relative_to(folder).parts[0] not in left]


RULES = ("client", "server", "mixing", "algorithms", "reference", "preconditioner")
APART: dict[str, tuple[list[Path], tuple[str, ...]]] = {
    "algorithms": (
        files(SPEC / "algorithms"),
        tuple(f"fedspec.{part}" for part in ("catalogue", "contract", "wire", "serve", "reference")),
    ),
    "the ledger": (files(LEDGER), ("fedspec_torch", "fedspec_train")),
    "the ledger but for its commands": (below(LEDGER, "report", "cli"), ("fedspec_suite",)),
    "what trains": (files(TRAINING), ("fedspec_proofs", "fedspec_use")),
    "the mirror": (files(MIRROR), ("fedspec_suite", "fedspec_train", "fedspec_proofs")),
    "what stands below the optional ways": (
        below(MIRROR, *MIRROR_ROOMS[MIRROR_ROOMS.index("ways") :]),
        ("fedspec_torch.ways",),
    ),
    # Above them the table alone is asked.
    "the mirror beside its ways": (
        below(MIRROR, "ways"),
        tuple(f"fedspec_torch.ways.{path.stem}" for path in files(MIRROR / "ways") if path.stem != "table"),
    ),
    # What proves a worst case knows nothing of the search.
    "worst cases": (below(LEDGER / "worst_cases", "search"), ("fedspec_proofs.worst_cases.search",)),
    # What is seen without a name is the last step's of a diagnosis.
    "diagnosis": (below(SUITE / "diagnosis", "seen", "identify.py"), ("fedspec_suite.diagnosis.seen",)),
    # Properties load on demand: report and cli alone import them by name.
    "the suite": (below(SUITE, "report", "cli"), ("fedspec_properties",)),
    # A second route may not call the rules that it checks, nor measure with them.
    "closed forms": (
        files(PROPERTIES / "closed_forms"),
        (*(f"fedspec.{part}" for part in RULES), "fedspec_suite.measure.bench"),
    ),
    **{
        f"what claims of {kit.parent.name} share": (files(kit), (f"fedspec_proofs.{kit.parent.name}.claims",))
        for kit in sorted(LEDGER.glob("*/kit"))
    },
}
"""Files, with the modules that they may not import."""


@pytest.mark.parametrize("what", APART)
def test_they_know_nothing_of_what_stands_above(what: str) -> None:
    paths, above = APART[what]
    assert paths
    for path in paths:
        known = [m for m in imports(path) if any(m == a or m.startswith(f"{a}.") for a in above)]
        assert not known, f"{name(path)} imports {known}"


@pytest.mark.slow
def test_the_suite_does_not_name_what_other_distributions_hold() -> None:
    """It finds their commands and subjects by entry points; bundled subjects are run in environments of their own."""
    named = {
        name(path): found
        for path in files(SUITE)
        if path.parent.parent != SUITE / "subjects"
        if (found := [other for other in OTHERS if other in path.read_text(encoding="utf-8")])
    }
    assert not named


PAPERS = {path.parent.name for path in LEDGER.glob("*/statements.toml")}


def room(package: Path, module: str) -> str:
    """The room of a package that a module, named from there, is in."""
    first = module.partition(".")[0]
    if package == SUITE:
        return "cli" if first in DOORS else first
    if package == MIRROR:
        return first if first in MIRROR_ROOMS else ""
    return "papers" if first in PAPERS else first if first in LEDGER_ROOMS else ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("package", "rooms"),
    [(SUITE, ROOMS), (MIRROR, MIRROR_ROOMS), (LEDGER, LEDGER_ROOMS)],
    ids=["suite", "mirror", "ledger"],
)
def test_rooms_stand_one_above_the_other(package: Path, rooms: tuple[str, ...]) -> None:
    for path in files(package):
        here = ".".join(path.relative_to(package).with_suffix("").parts)
        where = room(package, here)
        for module in imports(path) if (package, here) != (MIRROR, "__init__") else ():
            if module.startswith(f"{package.name}."):
                known = module.removeprefix(f"{package.name}.")
                assert rooms.index(room(package, known)) <= rooms.index(where), f"{name(path)} imports {module}"
                papers = {known.partition(".")[0], here.partition(".")[0]}
                assert len(papers) == 1 or not papers <= PAPERS, f"{name(path)} imports {module}"


def circle(folder: Path) -> list[str]:
    """Modules of a package of which each imports the next one, at its beginning or in a function; empty if none do."""
    known: dict[str, set[str]] = {}
    for path in files(folder):
        if path.stem != "__init__":
            module = ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts))
            known[module] = {*imports(path)}
    try:
        TopologicalSorter({module: found & known.keys() for module, found in known.items()}).prepare()
    except CycleError as error:
        return [*reversed(error.args[1])]
    return []


@pytest.mark.parametrize(
    "folder", [SPEC, SUITE, PROPERTIES, MIRROR, TRAINING, USERS, LEDGER], ids=lambda folder: folder.name
)
def test_no_modules_import_each_other(folder: Path) -> None:
    assert circle(folder) == []


@pytest.mark.parametrize(("last", "size"), [("from fedspec_made.one import f", 3), ("import json", 0)])
def test_an_import_in_a_function_closes_a_circle(last: str, size: int, tmp_path: Path) -> None:
    (folder := tmp_path / "fedspec_made").mkdir()
    (folder / "one.py").write_text("from fedspec_made import two\n")
    (folder / "two.py").write_text("import fedspec_made.three\n")
    (folder / "three.py").write_text(f"def f():\n    {last}\n")
    assert len({*circle(folder)}) == size


JUDGE = ROOT / "judge"
GENERIC = ("../fedspec_properties", "measure", "laws", "diagnosis", "judge", "report", "cli")
ONE_BY_ONE = tuple(PROPERTIES / name for name in ("closed_forms", "reductions", "layerwise"))
"""Closed forms and edges are data of single algorithms, and layers are Fed-LAMB's."""


def ids(tree: ast.AST) -> Iterator[str]:
    """The string literals that are ids of the catalogue."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in CATALOGUE:
            yield f"line {node.lineno}: {node.value}"


@pytest.mark.table(1)
@pytest.mark.parametrize("room", GENERIC)
def test_no_generic_file_names_an_algorithm(room: str) -> None:
    paths = [
        p for p in (SUITE / room).resolve().rglob("*.py") if not any(p.is_relative_to(folder) for folder in ONE_BY_ONE)
    ]
    assert paths
    for path in paths:
        assert not list(ids(ast.parse(path.read_text(encoding="utf-8")))), path.relative_to(JUDGE)


def test_the_scan_sees_ids() -> None:
    assert list(ids(ast.parse('if name == "fedavg" or name in {"afga", "other"}: pass'))) == [
        "line 1: fedavg",
        "line 1: afga",
    ]


@pytest.mark.parametrize("fact", Fact)
def test_every_fact_sets_some_algorithms_apart(fact: Fact) -> None:
    having = {i for i, a in CATALOGUE.items() if a.has(fact)}
    assert having and having != set(CATALOGUE)


def test_no_row_says_what_can_be_read_off() -> None:
    for a in CATALOGUE.values():
        assert not set(a.facts) & set(READ_OFF), a.id
        assert len(set(a.facts)) == len(a.facts), a.id
