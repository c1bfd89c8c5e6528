"""For all tests: what the rules are annotated with is checked at run time, but for long runs of them."""

from __future__ import annotations

import gc
import os
import signal
import time
from collections.abc import Iterator

import jaxtyping
import pytest
from jaxtyping import install_import_hook
from shares import ALL, OUTSIDE, QUICK, TEST, once, spread, tables
from test_spec.watching import watched

from fedspec import rules

# Several processes test at once, on models so small that the threads of torch wait for each other ten times as long as
# they compute. Before anything imports torch; what the tests start inherits it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# The width of the caller's terminal must not decide where a sentence that a test reads is wrapped.
os.environ.pop("COLUMNS", None)

# Collecting makes millions of objects and no garbage; see pytest_collection_finish.
gc.disable()

# Before anything imports a rule.
install_import_hook(["fedspec.client", "fedspec.mixing", "fedspec.server"], "beartype.beartype").__enter__()
rules.checked = watched(rules.checked)  # type: ignore[assignment]


PROFILE = os.environ.get("FEDSPEC_PROFILE", "full")
BEGUN = time.monotonic()
LONG = ("long", "night")

# A run in the background of a script, or under nohup, ignores signals, and so would the commands that are sent them.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_report_header() -> list[str]:
    """Say which profile this is, and on which devices the mirror is tested: without CUDA, its CUDA cases are not even
    collected.
    """
    import torch

    said = {
        "quick": "fewer cases, what takes long left out",
        "test": "what takes very long, or many cases, is left to make outside",
        "outside": "what is marked outside, and what make test leaves out",
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what the profile does not run; pytest says how many. After its own choice by -k and -m.

    What is marked outside or night is run there alone. Of the rest test and quick run the share that they have time
    for, and outside what test leaves, as far as its time goes. Soak runs everything, and who names no profile all that
    is not marked.
    """
    keep = set(_run(items))
    config.hook.pytest_deselected(items=[item for item in items if item not in keep])
    items[:] = [item for item in items if item in keep]
    if PROFILE == "outside" and (workers := int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))) > 1:
        items[:] = spread([(item.nodeid if not once(item) else "", item) for item in items], workers)


def _run(items: list[pytest.Item]) -> Iterator[pytest.Item]:
    if PROFILE == "soak":
        yield from items
        return
    for name, cases in tables((item.nodeid, item) for item in items if not item.get_closest_marker("night")).items():
        plain = [(id_, item) for id_, item in cases if not item.get_closest_marker("outside")]
        share = {"quick": QUICK, "test": TEST, "outside": TEST}.get(PROFILE, ALL)
        set_up = once(cases[0][1])
        inside = share.of(name, plain, set_up)
        if PROFILE == "outside":
            taken = set(inside)
            marked = cases[0][1].get_closest_marker("outside")
            share = ALL if marked and marked.kwargs.get("every") else OUTSIDE
            yield from share.of(name, [(id_, item) for id_, item in cases if item not in taken], set_up)
        else:
            yield from inside


def pytest_collection_finish() -> None:
    """What stands now stands to the end: no collection of garbage looks at it again, which would take a second."""
    gc.freeze()
    gc.enable()
    # What judges makes small objects by the million, and few that only a collection frees: a twentieth of the time.
    gc.set_threshold(100_000, 50, 1000)


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
