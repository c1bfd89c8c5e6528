"""Who may import whom: the specification knows nobody, its rules know only the ground they stand on, and each room of
the suite knows the rooms before it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC, SUITE, PROPERTIES = (ROOT / f for f in ("spec/fedspec", "judge/fedspec_suite", "judge/fedspec_properties"))
MIRROR, TRAINING, LEDGER = (
    ROOT / "impl/fedspec_torch",
    ROOT / "impl/fedspec_train",
    ROOT / "proofs_check/fedspec_proofs",
)
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
RECORDS = {"definition", "functions", "entry", "costs", "facts", "phrases", "hyper", "contract"}
"""What rows are made of; rules do not read it, but a local solver's file ends in its row."""
ROOMS = (
    *(
        "brought",
        "own",
        "adapters",
        "measure",
        "laws",
        "mutants",
        "subjects",
        "diagnosis",
        "judge",
        "kills",
        "vectors",
        "report",
        "cli",
    ),
)
"""The rooms of the suite, each above those before it."""
MIRROR_ROOMS = (
    *(
        "",
        "data",
        "local",
        "layers",
        "recorded",
        "population",
        "forms",
        "ranks",
        "gradients",
        "federation",
        "run",
        "judged",
    ),
    "tasks",
    "recipes",
)
"""Those of the mirror, in the same order; what stands in none is the ground."""
LEDGER_ROOMS = ("", "engines", "kit", "worst_cases", "papers", "kernel", "stored", "execution", "report", "cli")
"""Those of the ledger; what stands in none is the ground. It reaches the papers by name, as they are asked for."""
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


def room(part: str) -> str:
    """The room that a part of the suite is in."""
    return "cli" if part in DOORS else part


def name(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_specification_knows_nobody() -> None:
    known = {"fedspec", "numpy", "jaxtyping", "array_api_compat", "sympy", "z3", *sys.stdlib_module_names}
    assert not {name(path): more for path in files(SPEC) if (more := roots(path) - known)}


@pytest.mark.parametrize("folder", ["client", "mixing", "server"])
def test_rules_stand_on_the_ground_alone(folder: str) -> None:
    for path in files(SPEC / folder):
        for module in imports(path):
            if module.startswith("fedspec."):
                part = module.split(".")[1]
                rows = {"entry", "costs", "facts", "phrases"} if folder == "client" else set()
                assert part in GROUND | {folder} | rows or module == "fedspec", f"{name(path)} imports {module}"


def of_part(part: str) -> list[Path]:
    return files(SPEC / part) if (SPEC / part).is_dir() else [SPEC / f"{part}.py"]


@pytest.mark.parametrize("part", sorted(GROUND))
def test_the_ground_knows_no_rules(part: str) -> None:
    for path in of_part(part):
        for module in imports(path):
            if module.startswith("fedspec."):
                assert module.split(".")[1] in GROUND | {"__version__"}, f"{name(path)} imports {module}"


@pytest.mark.parametrize("part", sorted(RECORDS))
def test_the_records_know_no_rules(part: str) -> None:
    for path in of_part(part):
        for module in imports(path):
            if module.startswith("fedspec."):
                assert module.split(".")[1] in GROUND | RECORDS, f"{name(path)} imports {module}"


def test_algorithms_do_not_know_the_catalogue_or_the_contract() -> None:
    for path in files(SPEC / "algorithms"):
        known = {module.split(".")[1] for module in imports(path) if module.startswith("fedspec.")}
        assert not known & {"catalogue", "contract", "wire", "serve", "reference"}, name(path)


@pytest.mark.parametrize("module", ["contract", "plan", "schema", "wire", "serve"])
def test_an_adapter_needs_numpy_and_no_rules(module: str) -> None:
    known = {"arith", "contract", "domains", "errors", "given", "plan", "records", "schema", "wire"}
    for imported in imports(SPEC / f"{module}.py"):
        assert not imported.startswith("fedspec.") or imported.split(".")[1] in known, imported


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


@pytest.mark.slow
def test_the_ledger_reaches_the_suite_by_its_commands_only() -> None:
    for path in files(LEDGER):
        commands = path.relative_to(LEDGER).parts[0] in ("report", "cli")
        known = {"fedspec_suite"} if commands else set()
        assert not roots(path) & {"fedspec_torch", "fedspec_train", "fedspec_suite"} - known, name(path)


def test_what_trains_knows_the_mirror_and_the_suite() -> None:
    assert not [name(path) for path in files(TRAINING) if roots(path) & {"fedspec_proofs", "fedspec_use"}]


def test_the_mirror_knows_the_specification_alone() -> None:
    assert not [
        name(path) for path in files(MIRROR) if roots(path) & {"fedspec_suite", "fedspec_train", "fedspec_proofs"}
    ]


@pytest.mark.slow
def test_the_rooms_of_the_suite_stand_one_above_the_other() -> None:
    for path in files(SUITE):
        where = room(path.relative_to(SUITE).with_suffix("").parts[0])
        for module in imports(path):
            if module.startswith("fedspec_suite."):
                known = room(module.split(".")[1])
                assert ROOMS.index(known) <= ROOMS.index(where), f"{name(path)} imports {module}"


def test_the_rooms_of_the_mirror_stand_one_above_the_other() -> None:
    def level(module: str) -> int:
        return MIRROR_ROOMS.index(room if (room := module.partition(".")[0]) in MIRROR_ROOMS else "")

    for path in files(MIRROR):
        where = ".".join(path.relative_to(MIRROR).with_suffix("").parts)
        for module in imports(path) if where != "__init__" else ():
            if module.startswith("fedspec_torch."):
                assert level(module.removeprefix("fedspec_torch.")) <= level(where), f"{name(path)} imports {module}"


def test_the_rooms_of_the_ledger_stand_one_above_the_other() -> None:
    papers = {path.parent.name for path in LEDGER.glob("*/statements.toml")}
    assert papers

    def level(part: str) -> int:
        room = "papers" if part in papers else part
        return LEDGER_ROOMS.index(room if room in LEDGER_ROOMS else "")

    for path in files(LEDGER):
        where = path.relative_to(LEDGER).with_suffix("").parts[0]
        for module in imports(path):
            if module.startswith("fedspec_proofs."):
                known = module.split(".")[1]
                assert level(known) <= level(where), f"{name(path)} imports {module}"
                assert known == where or not {known, where} <= papers, f"{name(path)} imports {module}"


@pytest.mark.parametrize("kit", sorted(LEDGER.glob("*/kit")), ids=lambda kit: kit.parent.name)
def test_what_claims_share_knows_none_of_them(kit: Path) -> None:
    for path in files(kit):
        assert not [m for m in imports(path) if m.startswith(f"fedspec_proofs.{kit.parent.name}.claims")], name(path)


def test_what_proves_a_worst_case_knows_nothing_of_the_search() -> None:
    room = LEDGER / "worst_cases"
    for path in files(room):
        if path.parent.name != "search":
            assert not [m for m in imports(path) if m.startswith("fedspec_proofs.worst_cases.search")], name(path)


@pytest.mark.table(1)
@pytest.mark.parametrize("folder", [MIRROR, TRAINING, SUITE], ids=lambda folder: folder.name)
def test_no_two_files_import_each_other(folder: Path) -> None:
    known: dict[str, set[str]] = {}
    for path in files(folder):
        if path.stem != "__init__":
            module = ".".join((folder.name, *path.relative_to(folder).with_suffix("").parts))
            known[module] = {*imports(path)}
    ours = {module: found & known.keys() for module, found in known.items()}
    try:
        TopologicalSorter(ours).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


@pytest.mark.parametrize(
    ("folder", "known"),
    [("cases", {"cases"}), ("defects", {"cases", "defects", "edits"}), ("edits", {"cases", "defects", "edits"})],
)
def test_what_could_be_wrong_knows_nothing_of_the_search(folder: str, known: set[str]) -> None:
    for path in files(SUITE / "diagnosis" / folder):
        for module in imports(path):
            if module.startswith("fedspec_suite.diagnosis."):
                assert module.split(".")[2] in known, f"{name(path)} imports {module}"


def test_only_the_last_step_of_a_diagnosis_knows_what_is_seen_without_a_name() -> None:
    last = SUITE / "diagnosis/identify.py"
    for path in files(SUITE / "diagnosis"):
        if path != last and path.parent.name != "seen":
            assert not [m for m in imports(path) if m.startswith("fedspec_suite.diagnosis.seen")], name(path)


@pytest.mark.parametrize("part", ["mutants", "subjects"])
def test_mutants_and_subjects_need_the_specification_alone(part: str) -> None:
    for path in files(SUITE / part):
        known = {module.split(".")[1] for module in imports(path) if module.startswith("fedspec_suite.")}
        # What makes the environments runs beside the judge, not in them. Edits are put into copies.
        above = {"measure"} if path == SUITE / "subjects/making.py" or part == "mutants" else set()
        assert known <= {part, "own"} | above, name(path)


def test_properties_stand_on_the_laws_and_load_on_demand() -> None:
    """They know measure and laws; of the rooms of the suite only report and cli import them by name."""
    for path in files(PROPERTIES):
        known = {module.split(".")[1] for module in imports(path) if module.startswith("fedspec_suite.")}
        assert known <= {"own", "measure", "laws"}, name(path)
    for path in files(SUITE):
        if path.relative_to(SUITE).parts[0] not in {"report", "cli"}:
            assert "fedspec_properties" not in roots(path), name(path)


def test_closed_forms_do_not_share_code_with_the_rules() -> None:
    """They are a second route: they may not call the rules that they check, nor measure with them."""
    for path in files(PROPERTIES / "closed_forms"):
        for module in imports(path):
            part = module.split(".")[1] if module.startswith("fedspec.") else ""
            said = f"{name(path)} imports {module}"
            assert part not in {"client", "server", "mixing", "algorithms", "reference", "preconditioner"}, said
            assert not module.startswith("fedspec_suite.measure.bench"), said
