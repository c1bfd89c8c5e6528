"""A run of any algorithm on a module is the specification's, and can be stopped, saved and gone on with."""

from __future__ import annotations

import json
import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import TRAINABLE, half_square, hyper, quadratic, schedule, specified
from test_mirror.support import ended
from torch import nn

from fedspec.catalogue import Algorithm, find
from fedspec.errors import FedspecError, ParameterError, PlanError, UnknownNameError
from fedspec.facts import Fact
from fedspec.plan import Arrival, Exchange, Plan
from fedspec_torch import CheckpointError, DivergedError, Federation, arrivals, cohorts, exchanges, resume, simulate
from fedspec_torch.run import checkpoints

pytestmark = pytest.mark.table(10)

ROUNDS = 4
by_id = pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)


@by_id
def test_a_run_on_a_module_is_the_specification_on_its_objectives(row: Algorithm) -> None:
    federation, H, e = quadratic()
    run = simulate(row.id, federation, plan=schedule(row), rounds=ROUNDS, **hyper(row))
    losses = [r.loss for r in run]
    assert len(losses) == ROUNDS and np.isfinite(losses).all()
    want = specified(row, run, H, e)
    assert not np.allclose(want, federation.x0.numpy(), rtol=1e-3)
    assert np.allclose(run.x.numpy(), want, rtol=1e-9, atol=1e-11)


@pytest.mark.table(1)
@pytest.mark.long
@by_id
@pytest.mark.parametrize("block", [1, 2])
def test_blocks_change_nothing(row: Algorithm, block: int) -> None:
    """With blocks of one client too: training in place on a view would spoil the model that all begin from."""
    ends = []
    for size in (None, block):
        federation, *_ = quadratic(batch_size=3)
        begun = federation.x0.clone()
        ends.append(ended(row.id, federation, plan=schedule(row), rounds=ROUNDS, block=size, **hyper(row)).x)
        assert torch.equal(federation.x0, begun)
    assert torch.allclose(*ends, rtol=1e-9, atol=1e-11)


@pytest.mark.table(5)
@by_id
def test_a_resumed_run_goes_on_bit_for_bit(row: Algorithm, tmp_path: Path) -> None:
    def begun() -> Any:
        federation, *_ = quadratic(batch_size=3, way="looped")
        return simulate(row.id, federation, plan=schedule(row), rounds=ROUNDS, **hyper(row))

    whole = begun()
    list(whole)
    run = begun()
    while len(run):
        run.step()
        run.save(tmp_path / "run.pt")
        federation, *_ = quadratic(batch_size=3, way="looped")
        run = resume(tmp_path / "run.pt", federation)
    assert run.history == whole.history
    assert torch.equal(run.x, whole.x)


@pytest.mark.parametrize("algorithm", ["fedavg", "scaffold", "dsgd", "fedbuff"])
def test_a_run_goes_on_for_longer_than_it_was_begun_for(algorithm: str, tmp_path: Path) -> None:
    row, file = find(algorithm), tmp_path / "run.pt"

    def begun(rounds: int) -> Any:
        federation, *_ = quadratic(batch_size=3, way="looped")
        return simulate(row.id, federation, plan=schedule(row), rounds=rounds, **hyper(row))

    whole, run = begun(6), begun(3)
    list(whole), list(run)
    with pytest.raises(PlanError, match=r"rounds: all 3 are done; to .* run\.rounds, .* with rounds=4 or more"):
        run.step()
    assert len(run.history) == 3
    run.save(file)
    again = resume(file, quadratic(batch_size=3, way="looped")[0], rounds=6)
    assert len(again) == 3
    list(again)
    run.rounds = 6
    list(run)
    for one in (again, run):
        assert one.history == whole.history and torch.equal(one.x, whole.x)
    again.save(file)
    for rounds, words in ((5, "rounds: got 5, but 6 rounds of .* are done"), (0, "rounds: got 0; a run has at least")):
        with pytest.raises(PlanError, match=words):
            resume(file, quadratic(batch_size=3, way="looped")[0], rounds=rounds)


def test_the_seconds_of_all_rounds_are_kept_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 3))
    clock = SimpleNamespace(perf_counter=lambda: float(next(now)) ** 2)
    monkeypatch.setattr("fedspec_torch.run.runs.time", clock)
    monkeypatch.setattr("fedspec_torch.run.runs.setup_time", SimpleNamespace(seconds=lambda: 0.0))
    federation, *_ = quadratic(way="looped")
    run = simulate("fedavg", federation, plan=cohorts(4), rounds=4, eta_l=0.125)
    run.step(), run.step()
    run.save(tmp_path / "run.pt")
    again = resume(tmp_path / "run.pt", federation)
    list(again)
    # (b - a)(b + a) of clocks 0, 3, 6, ... that are squared.
    assert again.times == [9.0, 45.0, 81.0, 117.0] and run.times == again.times[:2]


@pytest.mark.table(5)
@by_id
def test_what_is_written_out_trains_like_what_is_looped_over(row: Algorithm) -> None:
    """Its gradients come in one buffer, which no algorithm may still need when it asks for the next."""
    ends = []
    for way in ("layered", "looped"):
        torch.manual_seed(3)
        bias = not row.has(Fact.MATRICES)
        module = nn.Sequential(nn.Linear(3, 4, bias=bias), nn.ReLU(), nn.Linear(4, 2, bias=bias)).double()
        data = [(torch.randn(5 + i, 3).double(), torch.randn(5 + i, 2).double()) for i in range(6)]
        federation = Federation(module, nn.functional.mse_loss, data, batch_size=4, way=way)
        ends.append(ended(row.id, federation, plan=schedule(row), rounds=ROUNDS, **hyper(row)).x)
    assert torch.allclose(*ends, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("algorithm", ["dsgd", "dadam"])
def test_a_peer_s_module_has_its_own_model(algorithm: str) -> None:
    federation, *_ = quadratic()
    run = simulate(algorithm, federation, plan=exchanges(steps=1), rounds=2, **hyper(find(algorithm)))
    run.step()
    state: Any = run.state
    models = torch.as_tensor(getattr(state, "x", state)).reshape(len(federation), -1)
    assert not torch.equal(models[0], models[3])
    for client, x in ((3, models[3]), (0, models[0]), (None, models.mean(0))):
        assert torch.equal(nn.utils.parameters_to_vector(run.module(client).parameters()), x)


@pytest.mark.parametrize("compiled", [lambda m: m, torch.jit.script, lambda m: torch.jit.trace(m, torch.ones(2, 3))])
def test_a_copy_of_a_module_is_trained_on_as_the_module_would_be(compiled: Any) -> None:
    model = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1))
    model[0].weight.requires_grad_(False)
    federation = Federation(compiled(model), half_square, [(torch.ones(2, 3), torch.ones(2))] * 2)
    run = simulate("fedavg", federation, plan=cohorts(2), rounds=1, eta_l=0.1)
    run.step()
    parameters = [*run.module().parameters()]
    assert [p.requires_grad for p in parameters] == [False, True, True, True]
    assert all(p.is_leaf for p in parameters)
    torch.optim.SGD(parameters, lr=0.1)


def test_a_round_reports_the_loss_before_it_and_what_is_sent() -> None:
    federation, *_ = quadratic()
    run = simulate("fedavg", federation, plan=cohorts(4, steps=2), rounds=3, eta_l=0.125)
    x = federation.x0.numpy()
    for number, done in enumerate(run):
        (plan,) = run.plan.events(run.algorithm, run.h, federation.setup, federation.x0, number)
        values = []
        for i in plan.participants:  # type: ignore[union-attr]
            A, b = (part.numpy() for part in federation.data[i])  # type: ignore[index]
            values.append(((A @ x - b) ** 2).mean() / 2)
        examples = [federation.setup.examples[i] for i in plan.participants]  # type: ignore[union-attr]
        assert done.loss == pytest.approx(np.average(values, weights=examples), rel=1e-12)
        assert done.floats_sent == (number + 1) * 2 * 4 * 6
        x = run.x.numpy()


def test_evaluation_says_loss_and_accuracy() -> None:
    module = nn.Linear(2, 2, bias=False).double()
    with torch.no_grad():
        module.weight.copy_(torch.eye(2))
    inputs = torch.tensor([[1.0, 0], [0, 1], [3, 2]], dtype=torch.float64)
    targets = torch.tensor([0, 1, 1])
    federation = Federation(module, nn.functional.cross_entropy, [(inputs, targets)])
    rounds = ended("fedavg", federation, rounds=3, test=(inputs, targets), test_every=2, eta_l=1e-9).history
    assert [r.accuracy for r in rounds] == [None, pytest.approx(2 / 3), pytest.approx(2 / 3)]
    want = -np.mean([np.log(np.exp(a) / (np.exp(a) + np.exp(b))) for a, b in ((1, 0), (1, 0), (2, 3))])
    assert rounds[-1].test_loss == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize(
    ("algorithm", "more", "error", "words"),
    [
        ("fedavgg", {"eta_l": 1.0}, UnknownNameError, "fedavgg"),
        (
            "fedavg",
            {"eta_k": 1.0},
            UnknownNameError,
            "eta_k: fedavg has no such .*; known: eta_l, eta, weights$",
        ),
        ("fedavg", {"way": "looped"}, UnknownNameError, r"way: .*weights; give it to Federation\(\.\.\., way=\.\.\.\)"),
        ("fedavg", {"solver": torch.optim.Adam}, ParameterError, r"solver: got class Adam; give the id .* or a row"),
        ("fedadam", {"eta": -1.0}, ParameterError, "eta: got -1.0"),
        ("fedavg", {"eta_l": -1.0}, ParameterError, "eta_l: got -1.0"),
        ("fedavg", {"eta_l": 1.0, "reading": "none"}, UnknownNameError, "none"),
        ("sgd", {"eta_l": 1.0}, PlanError, "sgd is a local solver"),
        ("fedavg", {"eta_l": 1.0, "rounds": 0}, PlanError, "rounds"),
    ],
)
def test_what_cannot_be_run_is_refused_by_name(
    algorithm: str, more: dict[str, Any], error: type[FedspecError], words: str
) -> None:
    federation, *_ = quadratic()
    with pytest.raises(error, match=words):
        simulate(algorithm, federation, plan=cohorts(2), **more)


def test_what_is_not_given_has_its_usual_value_and_the_run_says_which(tmp_path: Path) -> None:
    federation, *_ = quadratic(way="looped")
    run = simulate("fedadam", federation, plan=cohorts(2), rounds=2, eta_l=0.125, weights="uniform")
    assert run.usual == {"eta": 0.03, "beta1": 0.9, "beta2": 0.99, "tau": 1e-3, "v0": 1e-6}
    told = simulate("fedadam", federation, plan=cohorts(2), rounds=2, eta_l=0.125, weights="uniform", **run.usual)
    assert [r.loss for r in run] == [r.loss for r in told] and told.usual == {}
    run.save(tmp_path / "run.pt")
    assert resume(tmp_path / "run.pt", federation).usual == run.usual
    rated = simulate("fedadam", federation, plan=cohorts(2), rates={"eta_l": lambda r: 0.5**r})
    assert "eta_l" not in rated.usual and rated.h.eta_l == 1.0


def test_a_number_beyond_the_type_of_the_model_is_refused() -> None:
    data = [(torch.ones(3, 2), torch.ones(3, 1))]
    module = nn.Linear(2, 1)
    # From a model that is drawn, the step along 1e38 times a gradient may leave the type too.
    for p in module.parameters():
        nn.init.zeros_(p)
    federation = Federation(module, nn.functional.mse_loss, data)
    with pytest.raises(ParameterError, match=r"eta_l: got 1e\+39, but the largest number of torch.float32"):
        simulate("fedavg", federation, plan=cohorts(1), eta_l=1e39)
    simulate("fedavg", federation, plan=cohorts(1), rounds=1, eta_l=1e38).step()


@pytest.mark.parametrize(
    ("algorithm", "plan", "words"),
    [
        ("fedavg", cohorts(7), "cohort: got 7 of 6 clients; ask for 1 to 6"),
        ("fedavg", cohorts(0), "cohort: got 0 of 6"),
        ("vrl-sgd", cohorts(5), "vrl-sgd needs all clients"),
        ("fedavg", arrivals(), "arrivals for fedavg, whose step is one round; use cohorts"),
        ("fedavg", exchanges(), "use cohorts"),
        ("afga", cohorts(2), "use exchanges"),
        ("fedasync", cohorts(2), "use arrivals"),
        ("dsgd", exchanges(computing=3), "in dsgd all clients compute"),
        ("cafga", exchanges(senders=1, clusters=2), "senders: got 1 of 6 clients; ask for 2 to 6"),
    ],
)
def test_a_schedule_that_does_not_fit_is_refused_by_name(algorithm: str, plan: Any, words: str) -> None:
    federation, *_ = quadratic()
    run = simulate(algorithm, federation, plan=plan, **hyper(find(algorithm)))
    with pytest.raises(PlanError, match=words):
        run.step()


def test_a_run_that_diverges_says_when() -> None:
    federation, *_ = quadratic()
    run = simulate("fedavg", federation, plan=cohorts(None, steps=20), rounds=100, eta_l=1e9)
    with pytest.raises(DivergedError, match=r"round \d+: the loss is (inf|nan) for every client; the model has"):
        list(run)


def saved_file(path: Path) -> Path:
    federation, *_ = quadratic()
    run = simulate("fedadam", federation, plan=cohorts(3), rounds=3, **hyper(find("fedadam")))
    run.step()
    run.save(path)
    return path


def test_records_are_found_by_their_former_names(tmp_path: Path) -> None:
    from safetensors import safe_open

    with safe_open(saved_file(tmp_path / "run.pt"), framework="pt") as opened:
        content = opened.metadata()["content"]
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    assert checkpoints.FORMER
    for former, now in checkpoints.FORMER.items():
        assert now in content
        old = forged(tmp_path / "old.pt", content.replace(now, former), tensors)
        assert len(resume(old, quadratic()[0])) == 2


def test_a_file_that_cannot_be_resumed_is_refused_by_name(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    federation, *_ = quadratic()
    good = saved_file(tmp_path / "run.pt")
    whole = good.read_bytes()
    for cut in (0, 7, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "cut.pt").write_bytes(whole[:cut])
        with pytest.raises(CheckpointError, match=r"cut\.pt: it is damaged, or isn't a saved run"):
            resume(tmp_path / "cut.pt", federation)
    with pytest.raises(CheckpointError, match="no such file"):
        resume(tmp_path / "none.pt", federation)
    save_file({"x": torch.zeros(2)}, tmp_path / "foreign.pt")
    with pytest.raises(CheckpointError, match="not a saved run of this version"):
        resume(tmp_path / "foreign.pt", federation)
    torch.save({"x": torch.zeros(2)}, tmp_path / "pickle.pt")
    with pytest.raises(CheckpointError, match="damaged, or isn't a saved run"):
        resume(tmp_path / "pickle.pt", federation)


def forged(file: Path, content: Any, tensors: dict[str, torch.Tensor]) -> Path:
    """A file whose digest is right, as whoever writes one can make it."""
    from safetensors.torch import save_file

    told = content if isinstance(content, str) else json.dumps(content)
    header = {"fedspec": checkpoints.FORMAT, "content": told, "digest": checkpoints.digest(told, tensors)}
    save_file(tensors, file, metadata=header)
    return file


@pytest.mark.parametrize("opened, closed", [("[", "]"), ('{"a":', "}"), ('{"list":true,"tuple":[', "]}")])
@pytest.mark.parametrize("deep", [300, 100_000])
def test_a_forged_file_is_refused_in_a_line(opened: str, closed: str, deep: int, tmp_path: Path) -> None:
    """Nested so deep that no function may walk through it, with a digest that is right."""
    told = f'{{"algorithm": {opened * deep}1{closed * deep}}}'
    with pytest.raises(CheckpointError, match=r"does not fit this version .*nested too deeply") as refused:
        resume(forged(tmp_path / "bad.pt", told, {"empty": torch.zeros(0)}), quadratic()[0])
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 300


def test_a_forged_entry_is_refused_by_name_and_makes_none_but_our_records(tmp_path: Path) -> None:
    """A hostile file: whatever it names, nothing outside of fedspec is looked up, let alone called."""
    from safetensors import safe_open

    with safe_open(saved_file(tmp_path / "run.pt"), framework="pt") as opened:
        content = json.loads(opened.metadata()["content"])
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    made: list[tuple[str, Any]] = []
    for name, other in (("algorithm", 3), ("history", 3), ("rounds", "x"), ("federation", None), ("block", "x")):
        without = {n: v for n, v in content.items() if n != name}
        made += [(f".*{name}", {**content, name: other}), (f".*{name}", without)]
    records = ["os.system", "subprocess.Popen", "fedspec.wire.os.system", "fedspec.arith.sqrt"]
    records.append("fedspec_suite.cli.app.main")
    hostile: list[Any] = [{"record": name, "fields": {"command": "touch hacked"}} for name in records]
    made += [("", {**content, "h": h}) for h in (*hostile, {"tensor": "999", "numpy": False})]
    for words, changed in made:
        with pytest.raises(CheckpointError, match=f"does not fit this version {words}"):
            resume(forged(tmp_path / "bad.pt", changed, tensors), quadratic()[0])


KILLED = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from test_mirror.federations import hyper, quadratic, schedule
from fedspec.catalogue import find
from fedspec_torch import resume, simulate
file, row = Path(sys.argv[1]), find("fedada2")
federation, *_ = quadratic(batch_size=3, way="looped")
run = (resume(file, federation) if file.exists()
       else simulate(row.id, federation, plan=schedule(row), rounds=200, **hyper(row)))
print("begun", flush=True)
for done in run:
    run.save(file)
"""


KILLS = 10 if os.environ.get("FEDSPEC_PROFILE") == "soak" else 1
"""By each signal."""


@pytest.mark.slow
@pytest.mark.long
def test_a_run_that_is_killed_at_any_moment_is_resumed_bit_for_bit(tmp_path: Path) -> None:
    file, row = tmp_path / "run.pt", find("fedada2")
    code = KILLED.format(tests=str(Path(__file__).parents[1]))
    rng = np.random.default_rng(0)
    for kill in [signal.SIGKILL, signal.SIGTERM] * KILLS:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(file)], stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"}
        )
        assert process.stdout is not None and process.stdout.readline() == b"begun\n"
        while not file.exists() and process.poll() is None:
            # On a machine with much else to do the first round may take longer than all of the moments.
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.3))
        process.send_signal(kill)
        process.communicate()
    federation, *_ = quadratic(batch_size=3, way="looped")
    run = resume(file, federation)
    assert len(run.history) > 0
    list(run)
    whole = ended(row.id, quadratic(batch_size=3, way="looped")[0], plan=schedule(row), rounds=200, **hyper(row))
    assert whole.history == run.history
    assert torch.equal(run.x, whole.x)
    # What killed processes have left is removed; what somebody else has called so stays.
    (tmp_path / ".run.pt.mine").touch()
    run.save(file)
    assert {f.name for f in tmp_path.iterdir()} == {"run.pt", ".run.pt.mine"}


def test_what_a_killed_process_was_writing_is_removed_with_what_the_library_wrote_beside_it(tmp_path: Path) -> None:
    """A process that is gone, one that runs, and a folder of somebody else."""
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left, running, other = (tmp_path / f".run.pt.{name}" for name in (_of(gone.pid), _of(os.getppid()), "mine"))
    for folder in (left, running, other):
        folder.mkdir()
        (folder / ".tmpS22uVH").touch()
    saved_file(tmp_path / "run.pt")
    assert {f.name for f in tmp_path.iterdir()} == {"run.pt", running.name, other.name}


def _of(process: int) -> str:
    return f"{platform.node()}-{process}-x"


def test_a_file_in_which_anything_was_edited_is_refused_or_goes_on_the_same(tmp_path: Path) -> None:
    """Bits flipped, bytes replaced and pieces left out, in the header and in the numbers."""
    federation, *_ = quadratic()
    whole, edited = saved_file(tmp_path / "run.pt").read_bytes(), tmp_path / "edited.pt"
    want = resume(tmp_path / "run.pt", federation)
    rng, refused = np.random.default_rng(5), 0
    for edit in range(600):
        data, at = bytearray(whole), int(rng.integers(len(whole)))
        if edit % 3 == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif edit % 3 == 1:
            data[at] = int(rng.integers(256))
        else:
            del data[at : at + int(rng.integers(1, 9))]
        edited.write_bytes(data)
        try:
            found = resume(edited, federation)
        except CheckpointError:
            refused += 1
        else:
            assert (found.h, found.plan, found.rounds, found.history) == (want.h, want.plan, want.rounds, want.history)
            assert torch.equal(found.x, want.x)
    assert refused > 500


@pytest.mark.parametrize(
    ("algorithm", "events", "who"),
    [
        ("fedavg", [Plan((2, 0), (1, 3), (4, 4)), Plan((1,), (1,), (4,))], [(2, 0), (1,)]),
        (
            "afga",
            [Exchange((4,), ((0, 2), (2,)), torch.eye(6).double()), Exchange((4,), ((1,),), torch.eye(6).double())],
            [(0, 2), (1,)],
        ),
        ("fedasync", [Arrival(2, 1, 0), Arrival(0, 1, 1)], [(2,), (0,)]),
    ],
)
def test_a_run_tells_who_took_part(algorithm: str, events: list[Any], who: list[tuple[int, ...]]) -> None:
    plan: Any = SimpleNamespace(events=lambda *given: (events[given[-1]],), largest_delay=1)
    fed, *_ = quadratic(3)
    run = simulate(algorithm, fed, plan=plan, rounds=2, **hyper(find(algorithm)))
    assert [run.took for _ in run] == who
