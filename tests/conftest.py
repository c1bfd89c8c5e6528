"""For all tests: what the rules are annotated with is checked at run time, but for long runs of them."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections import Counter
from collections.abc import Iterator

import jaxtyping
import pytest
from jaxtyping import install_import_hook
from test_spec.watching import watched

from fedspec import rules

# Several processes test at once, on models so small that the threads of torch wait for each other ten times as long as
# they compute. Before anything imports torch; what the tests start inherits it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Collecting makes millions of objects and no garbage; see pytest_collection_finish.
gc.disable()

# Before anything imports a rule.
install_import_hook(["fedspec.client", "fedspec.mixing", "fedspec.server"], "beartype.beartype").__enter__()
rules.checked = watched(rules.checked)  # type: ignore[assignment]


PROFILE = os.environ.get("FEDSPEC_PROFILE", "full")
BEGUN = time.monotonic()
LONG = ("slow", "night", "long")
EACH = 3
"""How many cases of one test quick tries, evenly spread over its table: what breaks a whole room shows in them."""

# A run in the background of a script, or under nohup, ignores signals, and so would the commands that are sent them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    """Say which profile this is, and on which devices the mirror is tested: without CUDA, its CUDA cases are not even
    collected.
    """
    import torch

    said = {
        "quick": f"fewer cases, slow tests left out, {EACH} of each table",
        "soak": "all cases, all tests",
        "outside": "what is marked outside, and nothing else",
    }
    slow = said.get(PROFILE, "all cases; night is left to make soak, outside to make outside")
    devices = "cpu and cuda" if torch.cuda.is_available() else "cpu; no CUDA device here"
    return [f"profile: {PROFILE} ({slow})", f"mirror: {devices}"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say how long the profile took."""
    if not hasattr(terminalreporter.config, "workerinput"):
        taken = time.monotonic() - BEGUN
        terminalreporter.write_line(f"profile {PROFILE}: {taken:.0f} s on {os.cpu_count()} cores")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All profiles but soak leave out what is marked night or outside, quick what is marked slow and most of each table
    too, and outside takes what is marked so alone; pytest says how many. After its own choice by -k and -m.

    Of what is marked shared(k) one case in k stays where it is, and the others are as if they were marked outside.
    """
    for item in _beyond_a_share(items):
        item.add_marker(pytest.mark.outside)
    left = {"quick": ("slow", "night", "outside"), "soak": (), "outside": ("night",)}.get(PROFILE, ("night", "outside"))
    gone = {
        item
        for item in items
        if any(map(item.get_closest_marker, left))
        or (PROFILE == "outside" and item.get_closest_marker("outside") is None)
    }
    if PROFILE == "quick":
        gone |= _beyond_a_sample([item for item in items if item not in gone])
    config.hook.pytest_deselected(items=[item for item in items if item in gone])
    items[:] = [item for item in items if item not in gone]


def _beyond_a_share(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    """Of what is marked shared(k) all but each k-th case of its table."""
    met: Counter[str] = Counter()
    for item in items:
        if mark := item.get_closest_marker("shared"):
            table = item.nodeid.partition("[")[0]
            if met[table] % mark.args[0]:
                yield item
            met[table] += 1


def _beyond_a_sample(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each test with a table of cases those that quick leaves out."""
    tables: dict[str, list[pytest.Item]] = {}
    for item in items:
        tables.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return {item for cases in tables.values() for k, item in enumerate(cases) if k % -(-len(cases) // EACH)}


def pytest_collection_finish() -> None:
    """What stands now stands to the end: no collection of garbage looks at it again, which would take a second."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def long_runs_check_no_shapes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Where a rule runs thousands of times, checking its shapes takes up to half of the time: others check them.

    The judge's own tests are about what is said of wrong rules, by the thousand.
    """
    before = jaxtyping.config.jaxtyping_disable
    judging = request.node.path.parent.name == "test_judge"
    jaxtyping.config.update("jaxtyping_disable", before or judging or any(map(request.node.get_closest_marker, LONG)))
    yield
    jaxtyping.config.update("jaxtyping_disable", before)
