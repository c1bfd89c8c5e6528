"""For all tests: what the rules are annotated with is checked at run time, but for long runs of them."""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import pytest
from filelock import FileLock
from jaxtyping import install_import_hook
from test_spec.watching import watched

from fedspec import rules
from fedspec.errors import SOURCES

# Several processes test at once, on models so small that the threads of torch wait for each other ten times as long as
# they compute. Before anything imports torch; what the tests start inherits it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The width of the caller's terminal must not decide where a sentence that a test reads is wrapped.
os.environ["COLUMNS"] = "200"

# Collecting makes millions of objects and no garbage; see pytest_collection_finish.
gc.disable()

# Before anything imports a rule.
install_import_hook(["fedspec.client", "fedspec.mixing", "fedspec.server"], "beartype.beartype").__enter__()
rules.checked = watched(rules.checked)  # type: ignore[assignment]


PROFILE = os.environ.get("FEDSPEC_PROFILE", "full")
ROOT = Path(__file__).resolve().parent
BEGUN = time.monotonic()
LONG = ("long", "night")

# A run in the background of a script, or under nohup, ignores signals, and so would the commands that are sent them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    """Print the profile, and the devices of the mirror's tests: without CUDA, pytest doesn't collect its CUDA cases."""
    import torch

    said = {
        "quick": "a tenth of each table, nothing slow",
        "test": "the first cases of each table, nothing slow",
        "outside": "what is slow or marked outside, and the next cases of each table",
        "soak": "all cases, all tests",
    }
    taken = said.get(PROFILE, "all that is not marked outside or night")
    devices = "cpu and cuda" if torch.cuda.is_available() else "cpu; no CUDA device here"
    return [f"profile: {PROFILE} ({taken})", f"mirror: {devices}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the profile took."""
    if not hasattr(terminalreporter.config, "workerinput"):
        taken = time.monotonic() - BEGUN
        terminalreporter.write_line(f"profile {PROFILE}: {taken:.0f} s on {os.cpu_count()} cores")


def function(item: pytest.Item) -> str:
    """The name of the test function that the case belongs to."""
    return item.nodeid.partition("[")[0]


def chosen(profile: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """The cases that a profile runs, in the order of their collection.

    A table's cases are ordered by the checksums of their ids, so that a new case displaces at most one other.
    """
    if profile == "soak":
        return items
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        if not item.get_closest_marker("night"):
            tables.setdefault(function(item), []).append(item)
    keep: set[pytest.Item] = set()
    for cases in tables.values():
        cases.sort(key=lambda case: zlib.crc32(case.nodeid.encode()))
        mark = cases[0].get_closest_marker("table")
        many = mark.args[0] if mark else len(cases)
        inside = [case for case in cases if not case.get_closest_marker("outside")]
        fast = [case for case in inside if not case.get_closest_marker("slow")]
        if profile == "quick":
            keep.update(fast[: many // 10 if mark else many])
        elif profile == "test":
            keep.update(fast[:many])
        elif profile == "outside":
            keep.update([case for case in cases if case not in fast[:many]][: mark.args[-1] if mark else many])
        else:
            keep.update(inside)
    return [item for item in items if item in keep]


ASKED = pytest.StashKey[list[pytest.Item]]()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the profile does not run, after pytest's own choice by -k and -m; pytest prints how many."""
    config.stash[ASKED] = [*items]
    keep = chosen(PROFILE, items)
    kept = set(keep)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    # The longest cases install packages. They begin first, so that no process is left alone with one.
    items[:] = sorted(keep, key=lambda i: PROFILE == "outside" and not i.get_closest_marker("outside"))


@pytest.fixture
def choice() -> Callable[[str, list[pytest.Item]], list[pytest.Item]]:
    """Function that chooses the cases of a profile, for the tests of it."""
    return chosen


@pytest.fixture
def never_run(request: pytest.FixtureRequest) -> set[str]:
    """The functions of this session of which neither `make test` nor `make outside` runs a case, but for the night."""
    items = request.config.stash[ASKED]
    daily = {function(item) for item in items if not item.get_closest_marker("night")}
    return daily - {function(i) for profile in ("test", "outside") for i in chosen(profile, items)}


def pytest_collection_finish() -> None:
    """Freeze the objects that exist now: a collection of garbage that looked at them again would take a second."""
    gc.freeze()
    gc.enable()
    # What judges makes small objects by the million, and few that only a collection frees: a twentieth of the time.
    gc.set_threshold(100_000, 50, 1000)


@pytest.fixture(autouse=True)
def long_runs_check_no_shapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Switch the checks of shapes off where a rule runs thousands of times: they take up to half of the time.

    The judge's own tests are about what is said of wrong rules, by the thousand.
    """
    before = jaxtyping.config.jaxtyping_disable
    judging = request.node.path.parent.name == "test_judge"
    jaxtyping.config.update("jaxtyping_disable", before or judging or any(map(request.node.get_closest_marker, LONG)))
    yield
    jaxtyping.config.update("jaxtyping_disable", before)


@pytest.fixture(autouse=True)
def rows_leave_with_their_test() -> Iterator[None]:
    """Drop the rows that joined the catalogue in a test, such as a server with another solver: others list all rows."""
    from fedspec.catalogue import ALIASES, CATALOGUE, FAMILIES

    held: tuple[dict[str, Any], ...] = (CATALOGUE, ALIASES, FAMILIES)
    before = [{**of} for of in held]
    yield
    if CATALOGUE.keys() != before[0].keys():
        for of, at_first in zip(held, before, strict=True):
            of.clear()
            of.update(at_first)


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder that the processes of a run share."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def wheels(shared_folder: Path) -> dict[str, Path]:
    """Wheels of the distributions, by name, which the processes of a run share."""
    folder = shared_folder / "wheels"
    with FileLock(folder.with_suffix(".lock")):
        for place in () if folder.exists() else SOURCES.values():
            build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
            subprocess.run([*build, str(ROOT / place)], check=True, capture_output=True)
    return {name: next(folder.glob(f"{name.replace('-', '_')}-*.whl")) for name in SOURCES}


@pytest.fixture
def calm(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line about progress, however busy the machine is."""
    from fedspec_suite.report import terminal

    monkeypatch.setattr(terminal, "PATIENCE", math.inf)
