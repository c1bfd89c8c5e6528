"""Installers of an environment: uv as pip is configured, else pip; several at a time, judged meanwhile."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_judge.fake_uv import LOCK
from test_judge.test_robust_process import gone, started

from fedspec.errors import ContractError
from fedspec_suite.judge.check import check
from fedspec_suite.judge.request import Request
from fedspec_suite.measure.verdict import Conformity
from fedspec_suite.report import terminal
from fedspec_suite.subjects import environment_builder, environments, installing
from fedspec_suite.subjects.environment_builder import try_lock
from fedspec_suite.subjects.environments import STAMP, Environment

PINS = "torch==2.13.0\n"
FAKE = Path(__file__).with_name("fake_uv.py")


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither pip nor uv is told anything by this machine."""
    for name in [n for n in os.environ if n.startswith(("PIP_", "UV_")) or n in ("SSL_CERT_FILE", "ALL_PROXY")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)


@pytest.fixture
def notes(plain: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A uv on the PATH that writes down here what it was told, and no other."""
    folder = tmp_path / "notes"
    folder.mkdir()
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(f'#!/bin/sh\nexec {shlex.join([sys.executable, str(FAKE)])} "$@"\n')
    uv.chmod(0o755)
    monkeypatch.setitem(sys.modules, "uv", None)
    # Not pip itself: with nothing told it would fetch gigabytes for the pin of torch.
    monkeypatch.setattr(installing, "PIP", ("-S", str(FAKE), "PIP"))
    monkeypatch.setenv("PATH", f"{uv.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_UV", str(folder))
    monkeypatch.setenv("FEDSPEC_CACHE", str(tmp_path / "cache"))
    return folder


def environment(name: str, folder: Path, pins: str = PINS) -> Environment:
    (folder / f"{name}.txt").write_text(pins)
    return Environment(name, folder / f"{name}.txt")


def test_pip_is_read_as_it_reads_its_settings(plain: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "pip.conf"
    file.write_text("[global]\nfind-links = /a\ntimeout = 7\n[install]\ntimeout = 8\n[download]\nretries = 9\n")
    monkeypatch.setenv("PIP_CONFIG_FILE", str(file))
    monkeypatch.setenv("PIP_FIND_LINKS", "/b /c")
    monkeypatch.setenv("PIP_PROXY", "")
    listed = installing.listed(sys.executable)
    assert listed is not None
    told = installing.settings(listed)
    # The variable that names the file is a setting to pip too.
    assert installing.as_variables(told) is not None
    assert told.pop("find-links") == "/b /c" and told.pop("timeout") == "8"
    # A file of the whole machine may say more; nothing of what was said for another command, or empty, is there.
    assert not told.keys() & {"retries", "proxy"}


def test_uv_is_told_what_pip_is_set_to(notes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "https://example.org/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://a.example.org https://b.example.org")
    monkeypatch.setenv("PIP_FIND_LINKS", "/one /two")
    monkeypatch.setenv("PIP_CERT", "/a/cert.pem")
    monkeypatch.setenv("SSL_CERT_FILE", "/another.pem")
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "11")
    monkeypatch.setenv("PIP_DEFAULT_TIMEOUT", "12")
    environment("one", tmp_path).made(lambda line: None)
    written = json.loads((notes / "one.json").read_text())
    told = written["told"]
    assert told["UV_DEFAULT_INDEX"] == "https://example.org/simple"
    assert told["UV_INDEX"] == "https://a.example.org https://b.example.org"
    assert told["UV_FIND_LINKS"] == "/one,/two" and told["SSL_CERT_FILE"] == "/a/cert.pem"
    # With several indexes uv would take the first that has the package, whatever its versions.
    assert told["UV_INDEX_STRATEGY"] == "unsafe-best-match"
    assert told["UV_HTTP_TIMEOUT"] == "11", "what uv is told by a person comes first"
    assert "--torch-backend" not in written["words"] and "--no-config" in written["words"]


def test_what_is_fetched_is_said_and_the_environment_is_ready(notes: Path, tmp_path: Path) -> None:
    said: list[str] = []
    one = environment("one", tmp_path)
    python = one.made(said.append)
    assert one.is_ready and python.exists() and (one.folder / STAMP).read_text() == PINS
    (line,) = [line for line in said if "torch 2.13.0+fake" in line]
    assert line.startswith("one: 3 packages, of which 10 MB ")
    words = json.loads((notes / "one.json").read_text())["words"]
    assert words[words.index("--torch-backend") + 1] == "auto"
    assert one.made(said.append) == python and sum("ready after" in line for line in said) == 1


def test_packages_of_cuda_are_counted() -> None:
    more = "".join(f'\n[[packages]]\nname = "{n}"\nversion = "1"\n' for n in ("nvidia-cublas", "cuda-toolkit"))
    assert "CUDA" in installing.planned(LOCK + more) and "CUDA" not in installing.planned(LOCK)


@pytest.mark.parametrize(
    ("told", "torch", "tools"),
    [
        ({}, True, ["uv --torch-backend auto", "uv", "pip"]),
        ({}, False, ["uv", "pip"]),
        ({"PIP_FIND_LINKS": "/a"}, True, ["uv", "pip"]),
        ({"PIP_EXTRA_INDEX_URL": "https://example.org"}, True, ["uv", "pip"]),
        ({"UV_DEFAULT_INDEX": "https://example.org"}, True, ["uv", "pip"]),
        ({"UV_TORCH_BACKEND": "cpu"}, True, ["uv", "pip"]),
        ({"PIP_PROGRESS_BAR": "off"}, True, ["uv --torch-backend auto", "uv", "pip"]),
        # What uv cannot be told.
        ({"PIP_REQUIRE_HASHES": "1"}, True, ["pip"]),
        ({"PIP_NO_INDEX": "1"}, False, ["pip"]),
    ],
)
def test_the_ways_to_install(
    told: dict[str, str], torch: bool, tools: list[str], notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in told.items():
        monkeypatch.setenv(name, value)
    listed = "".join(
        f":env:.{n[4:].lower().replace('_', '-')}={v!r}\n" for n, v in told.items() if n.startswith("PIP_")
    )
    assert [way.name for way in installing.ways(sys.executable, listed, torch)] == tools


def test_without_uv_pip_installs(plain: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And says what that fetches, where nothing tells it which torch."""
    monkeypatch.setitem(sys.modules, "uv", None)
    monkeypatch.setattr(installing.shutil, "which", lambda name: None)
    monkeypatch.setenv("FEDSPEC_CACHE", str(tmp_path))
    monkeypatch.setattr(installing, "listed", lambda python: "")
    ran: list[list[str]] = []
    monkeypatch.setattr(environment_builder, "_run", lambda job, argv, log: ran.append(argv))
    said: list[str] = []
    one = environment("one", tmp_path)
    one.folder.mkdir(parents=True)
    one.made(said.append)
    (made, install) = ran
    assert "venv" in made and "--without-pip" not in made and install[-2:] == ["-r", str(one.requirements)]
    assert any("2.8 GB" in line for line in said)


@pytest.mark.slow
def test_what_uv_cannot_install_pip_does_in_a_fresh_environment(notes: Path, tmp_path: Path) -> None:
    (notes / "one.fails").write_text("")
    said: list[str] = []
    one = environment("one", tmp_path)
    one.made(said.append)
    assert any("uv cannot make it" in line and line.endswith("no such package") for line in said)
    assert one.is_ready and not (one.folder / "half").exists()
    assert list(one.folder.glob("bin/pip*"))
    assert json.loads((notes / "one.pip").read_text()) == ["install", "-r", str(one.requirements)]


@pytest.mark.slow
def test_what_nobody_can_install_leaves_no_environment(notes: Path, tmp_path: Path) -> None:
    (notes / "one.fails").write_text("")
    (notes / "one.fails-too").write_text("")
    one = environment("one", tmp_path)
    with pytest.raises(ContractError, match=r"one: cannot make its environment: .* exited with 1"):
        one.made(lambda line: None)
    assert not one.is_ready


@pytest.mark.slow
def test_several_are_made_at_a_time(notes: Path, tmp_path: Path) -> None:
    """Each waits for the other, so that neither would be ready alone; one that fails fails alone."""
    (notes / "one.waits").write_text("two.pid")
    (notes / "two.waits").write_text("one.pid")
    for kind in ("fails", "fails-too"):
        (notes / f"three.{kind}").write_text("")
    three = environment("three", tmp_path)
    both = [environment("one", tmp_path), environment("two", tmp_path)]
    with environments.made([*both, three, both[0]], lambda line: None) as promised:
        assert [promised[e].result(120) for e in both] == [e.made(print) for e in both]
        with pytest.raises(ContractError):
            promised[three].result(120)


def test_those_that_are_left_are_ended_with_the_block(notes: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (notes / f"{name}.waits").write_text("never")
    both = [environment("one", tmp_path), environment("two", tmp_path)]
    with environments.made(both, lambda line: None):
        pids = [started(notes / f"{e.package}.pid") for e in both]
    assert all(map(gone, pids)) and not any(e.is_ready for e in both)


def test_who_waits_for_a_lock_gives_up_when_told(tmp_path: Path) -> None:
    stop = threading.Event()
    stop.set()
    lock = tmp_path / "lock"
    with (
        environment_builder.locked(lock, "one", print),
        pytest.raises(KeyboardInterrupt),
        environment_builder.locked(lock, "one", print, stop),
    ):
        pass


@pytest.fixture
def two_packages(notes: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Bundled subjects ``late`` and ``early``; the environment of the first is made when the other was judged."""
    home = tmp_path / "subjects"
    code = (Path(__file__).parent / "subjects" / "right.py").read_text()
    for name in ("late", "early"):
        (home / name).mkdir(parents=True)
        (home / name / "adapter.py").write_text(code)
        (home / name / "requirements.txt").write_text("numpy\n")
        card = {"description": name, "variants": {"": "fedavg"}}
        (home / name / "subject.json").write_text(json.dumps(card))
    bootstrap = Path(environments.__file__).with_name("bootstrap.py")
    (home / "bootstrap.py").write_text(bootstrap.read_text())
    monkeypatch.setattr(environments, "HERE", home)
    (notes / "late.waits").write_text("judged")
    yield notes


@pytest.mark.slow
def test_a_package_is_judged_while_the_environment_of_another_is_made(two_packages: Path) -> None:
    """The results still come in the order of the names."""
    said: list[str] = []

    def heard(line: str) -> None:
        said.append(line)
        if line.startswith(terminal.COUNTED):
            (two_packages / "judged").write_text("")

    request = Request(("late", "early"), law="follows-x", profile="quick")
    results = list(check(request, heard))
    assert list(dict.fromkeys(r.command.split()[2] for r in results)) == ["late", "early"], said
    assert all(r.verdict is Conformity.ASKED_IN_PART for r in results)
    first = next(i for i, line in enumerate(said) if line.startswith(terminal.COUNTED))
    ready = next(i for i, line in enumerate(said) if line.startswith("late: environment ready"))
    assert first < ready and said[first].startswith("judged 1 claim so far, ")


INTERRUPTED = """
import sys
from pathlib import Path
from fedspec_suite.measure.interrupts import terminable
from fedspec_suite.subjects import environments, installing
from fedspec_suite.subjects.environments import Environment
sys.modules["uv"], installing.PIP = None, ("-S", sys.argv.pop(1), "PIP")
with terminable(), environments.made([Environment(Path(f).stem, Path(f)) for f in sys.argv[1:]], print) as promised:
    [promise.result() for promise in promised.values()]
"""


@pytest.mark.table(1)
@pytest.mark.parametrize("signal", ["SIGINT", "SIGTERM"])
def test_an_interrupt_ends_all_that_are_made(signal: str, notes: Path, tmp_path: Path) -> None:
    import signal as signals

    for name in ("one", "two"):
        (notes / f"{name}.waits").write_text("never")
    both = [environment("one", tmp_path), environment("two", tmp_path)]
    command = [sys.executable, "-c", INTERRUPTED, str(FAKE), *(str(e.requirements) for e in both)]
    judge = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    pids = [started(notes / f"{e.package}.pid") for e in both]
    judge.send_signal(getattr(signals, signal))
    assert judge.wait(60) != 0
    assert all(map(gone, pids)) and not any(e.is_ready for e in both)


def lines(told: Callable[..., None]) -> None:
    told("one: environment ready after 3 s")
    told("judged 1 of 2 claims, one fedavg/server conforms")
    told("one fedavg/server follows-x")


@pytest.mark.parametrize(("patience", "printed"), [(-1.0, 2), (1e9, 1)])
def test_where_there_is_no_terminal_lines_are_printed(
    patience: float, printed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Print long steps at once, counts every while, and no line for each law."""
    monkeypatch.setattr(terminal, "PATIENCE", patience)
    with terminal.spinner() as told:
        lines(told)
    written = capsys.readouterr()
    assert not written.out and len(written.err.splitlines()) == printed
    assert "environment ready" in written.err and "follows-x" not in written.err


CODE = """
import sys
from pathlib import Path
from fedspec_suite.subjects.environment_builder import ended, locked
lock_file, pid_file = sys.argv[1:]
wait = "import os, time; open(%r, 'w').write(str(os.getpid())); time.sleep(600)" % pid_file
with locked(Path(lock_file), "package", print) as lock, open(lock_file + ".log", "w") as log:
    ended([sys.executable, "-S", "-c", wait], lock, log)
"""


def free(lock: Path) -> bool:
    with lock.open("a+b") as file:
        return try_lock(file.fileno())


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_nobody_makes_it_while_somebody_else_still_writes(sent: signal.Signals, tmp_path: Path) -> None:
    lock, file = tmp_path / "lock", tmp_path / "pid"
    judge = subprocess.Popen([sys.executable, "-c", CODE, str(lock), str(file)], stderr=subprocess.DEVNULL)
    pid = started(file)
    assert not free(lock)
    judge.send_signal(sent)
    judge.wait(60)
    if sent is signal.SIGKILL:
        # Nobody could end it: it goes on, and is waited for.
        assert not free(lock)
        os.kill(pid, signal.SIGKILL)
    assert gone(pid) and free(lock)
