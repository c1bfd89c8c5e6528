"""The pages docs/found*.md, their adapters and what drives these, as far as no clone and no package is needed."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import deviates
from test_judge.support import ROOT, python

from fedspec.contract import Case, Claim, ClientMessage, Messages
from fedspec_suite.api import check_subject

pytest.importorskip("torch")

FOLDER = ROOT / "examples/found"
PAGE = "".join((ROOT / f"docs/{name}.md").read_text(encoding="utf-8") for name in ("found", "found-beside"))
SHARED = {"beside", "compressing", "local", "means", "network", "personal", "private", "servers"}
PACKAGES = "alphamed", "appfl", "byzpy", "chorus", "declearn", "disropt", "flwr", "krum", "nanofed", "packaged"
SHOWN = {"near"}
"""Scripts that the page names."""
ADAPTERS = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in SHARED | SHOWN)

TRIED = """
import json, sys
from importlib import import_module
from fedspec_suite.lora.rounds import rounds

said = {}
for name in sys.argv[1:]:
    module = import_module(name)
    public = {n: f for n, f in vars(module).items() if callable(f) and getattr(f, "__module__", "") == name}
    offered = {n: f for n, f in public.items() if n in ("Adapter", "Mended", "Speedtronic", "Blt", "Torch")}
    mixers = {n: f for n, f in public.items() if n in ("fedit", "ffa", "rolora", "flora", "fedex")}
    for made, arguments in ((offered, ()), (mixers, (next(rounds()),))):
        for n, f in made.items():
            try:
                f(*arguments)
            except RuntimeError as error:
                said[f"{name}.{n}"] = str(error)
            else:
                said[f"{name}.{n}"] = ""
print(json.dumps(said))
"""

AVERAGED = """
import json
import numpy as np
from fedspec.contract import Case, ClientMessage, Messages
from packaged_outer import Torch

x0 = {"a": np.array([1.0, 2.0])}
made = Torch().start(Case("diloco", "server", "diloco", {}, "float64", x0, {"eta": 1.0, "beta": 0.0}))
deltas = ([4.0, 0.0], [0.0, 8.0])
sent = tuple(ClientMessage(i, {"a": np.array(d)}, 1, 1, 1) for i, d in enumerate(deltas))
print(json.dumps([made.step(Messages(sent))["x"]["a"].tolist() for _ in range(2)]))
"""

IN_TURN = '''
class DSGT:
    """Two buffers: everybody mixes with the models and trackers that all had."""

    def __init__(self, pr, device, conf):
        self.pr, self.conf = pr, conf

    def gradients(self):
        import torch
        return [torch.autograd.grad(self.pr.local_batch_loss(i), list(m.parameters()))[0]
                for i, m in self.pr.models.items()]

    def train(self):
        import torch
        from utils import graph_generation
        X = [next(iter(m.parameters())) for m in self.pr.models.values()]
        if self.conf["init_grads"]:
            self.Y = self.G = self.gradients()
        for _ in range(self.conf["outer_iterations"]):
            W = graph_generation.get_metropolis(self.pr.graph)
            with torch.no_grad():
                moved = [x - self.conf["alpha"] * y for x, y in zip(X, self.Y)]
                mixed = [sum(W[i, j] * moved[j] for j in range(len(X))) for i in range(len(X))]
                for x, new in zip(X, mixed):
                    x.copy_(new)
            G = self.gradients()
            self.Y = [sum(W[i, j] * self.Y[j] for j in range(len(X))) + G[i] - self.G[i] for i in range(len(X))]
            self.G = G

DSGD = DSGT
'''

TRACKED = f"""
import json
import source
source.text = lambda commit, path: {IN_TURN!r}
source.dated = lambda commit: commit
from dinno_peers import Adapter
from fedspec_suite.api import check_subject

(one,) = check_subject(Adapter(), only="diging/trace", law="follows-*")
print(json.dumps([str(one.verdict), one.exercised]))
"""


def output_of(script: str, *arguments: str, **environment: str) -> Any:
    """Output of a script in a process of its own: adapters put stand-ins in the place of modules."""
    path = ":".join(str(ROOT / "examples" / folder) for folder in ("found", "diloco", "lora"))
    done = python("-c", script, *arguments, env={"PYTHONPATH": path, **environment}, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


FORMERLY = (
    "appfl_client",
    "disropt_peers",
    "flwr_private",
    "omnifed_parts",
    "openfedllm_lora",
    "relaysgd_peers",
    "torchft_outer",
)
"""Scripts whose adapter the pages called ``Subject``."""


def test_a_command_of_an_earlier_page_finds_its_adapter() -> None:
    said = "import json, sys; found = [__import__(n) for n in sys.argv[1:]]; "
    assert output_of(said + "print(json.dumps([m.Subject is m.Adapter for m in found]))", *FORMERLY) == [True] * 7


def test_the_pages_name_every_adapter_once_and_no_other() -> None:
    tables = re.findall(r"\| clone or package .*?\n\n", PAGE, re.DOTALL)
    assert len(tables) == 2 and sorted(re.findall(r"`(\w+)\.py`", "".join(tables))) == ADAPTERS
    assert all(f"`{name}.py`" in PAGE for name in SHARED) and all(f"/{name}.py)" in PAGE for name in SHOWN)


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapters_commits_stand_on_a_page(name: str) -> None:
    text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    commits = set(re.findall(r'"([0-9a-f]{7})"', text))
    versions = set(re.findall(r'published\("[\w-]+", "([\d.]+)"', text))
    assert commits or versions
    for said in commits | versions:
        assert re.search(rf"(at |\D){re.escape(said)}\b", PAGE), said


@pytest.mark.parametrize("name", [*ADAPTERS, *sorted(SHARED | SHOWN)])
def test_adapters_are_typed(name: str) -> None:
    tree = ast.parse((FOLDER / f"{name}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            assert node.returns is not None, node.name
            assert all(a.annotation is not None for a in node.args.args if a.arg != "self"), node.name


@pytest.mark.slow
def test_adapters_refuse_a_clone_without_their_commit_and_packages_at_other_versions(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    said = output_of(TRIED, *ADAPTERS, SOURCE=str(tmp_path))
    of = {key.split(".")[0] for key in said}
    assert of == set(ADAPTERS)
    for key, error in said.items():
        if key == "packaged_outer.Torch":
            assert not error
        elif key.startswith(PACKAGES):
            assert not error or "pip install --no-deps" in error, key
        else:
            assert str(tmp_path) in error and "git" in error, (key, error)


@pytest.mark.slow
def test_pytorchs_averager_averages() -> None:
    assert output_of(AVERAGED) == [[3.0, 6.0], [5.0, 10.0]]


@pytest.mark.slow
def test_a_tracker_with_two_buffers_conforms_through_the_adapter_that_found_one_in_place() -> None:
    verdict, asked = output_of(TRACKED)
    assert verdict == "asked in part" and asked


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Import from the folder, and forget it afterwards."""
    mine = {p.stem for folder in (FOLDER, ROOT / "examples/diloco") for p in folder.glob("*.py")}
    kept: dict[str, ModuleType] = {name: sys.modules.pop(name) for name in mine if name in sys.modules}
    path = list(sys.path)
    monkeypatch.syspath_prepend(str(FOLDER))
    yield import_module
    for name in mine:
        sys.modules.pop(name, None)
    sys.path[:] = path
    sys.modules.update(kept)


def test_means_hand_over_changes_and_models_what_they_sum_to(at: Any) -> None:
    means = at("means")
    of_changes = means.offer("median", "yin-2018"), lambda h: lambda sent: np.median(means.rows(sent), 0)
    of_models = (
        means.offer_of_models("median", "yin-2018"),
        lambda h: lambda models, n: {b: np.median([m[b] for m in models], axis=0) for b in models[0]},
    )
    for subject in (means.Means("ours", "0", [of_changes]), means.Models("ours", "0", [of_models])):
        (found,) = check_subject(subject, law="follows-*")
        assert found.passed == found.required > 0


def test_compressors_hand_over_changes_and_draws(at: Any) -> None:
    compressing = at("compressing")

    def rounded(h: Any, d: int) -> Any:
        def sent(v: Any, u: Any) -> Any:
            R = np.sqrt((v * v).sum())
            a = h["levels"] * abs(v) / R if R else 0 * v
            return np.sign(v) * R / h["levels"] * (np.floor(a) + (u < a - np.floor(a)))

        return lambda changes, draws: [sent(changes[i], draws[i]) for i in changes]

    def largest(h: Any, d: int) -> Any:
        owing: dict[int, Any] = {}

        def sent(i: int, v: Any) -> Any:
            p = v + owing.get(i, 0)
            c = 0 * p
            first = np.argsort(-abs(p), kind="stable")[: int(h["kept"])]
            c[first] = p[first]
            owing[i] = p - c
            return c

        return lambda changes, draws: [sent(i, v) for i, v in changes.items()]

    offer = compressing.make_offer
    made = [(offer("fedpaq", "qsgd"), rounded), (offer("fedcams", "wang-2022"), largest)]
    for found in check_subject(compressing.Compressors("ours", "0", made), law="follows-*"):
        assert found.passed == found.required > 0


def test_shares_are_those_of_the_examples(at: Any) -> None:
    sent = [ClientMessage(i, {"x": np.zeros(1)}, n, 1, 1) for i, n in enumerate((1, 3))]
    assert at("means").shares(sent).tolist() == [0.25, 0.75]


def test_roundings_reach_the_mean_of_changes_by_examples(at: Any) -> None:
    means = at("means")
    offers = list(means.rounded([("", ("fixed 16",), lambda row: np.rint(row * 2.0**16) / 2.0**16)]))
    (found,) = check_subject(means.Means("ours", "0", offers), law="follows-*")
    assert found.passed == found.required > 0


def test_local_steps_hand_over_a_loss_and_the_number_of_the_round(at: Any) -> None:
    local, torch = at("local"), at("torch")

    def begins(model: Any, h: Any, round_: int) -> Any:
        sgd = torch.optim.SGD(model.parameters(), lr=h["eta_l"] * 0.5**round_)

        def takes(loss: Any) -> None:
            sgd.zero_grad()
            loss.backward()
            sgd.step()

        return takes

    claim = Claim("sgd", "client", schedules={"eta_l": "exponential/round factor=0.5"})
    (found,) = check_subject(local.Steps("ours", "0", [(claim, begins)]), law="follows-*")
    assert found.passed == found.required > 0


def test_servers_hand_over_messages_and_give_a_checkpoint_back(at: Any) -> None:
    servers, means, torch = at("servers"), at("means"), at("torch")

    class Server:
        def __init__(self, model: Any, h: Any) -> None:
            self.model, self.rate, self.rounds = model, h["eta"], 0

        def update(self, sent: Any) -> None:
            with torch.no_grad():
                for p, *changes in zip(self.model.blocks, *(m.delta.values() for m in sent), strict=True):
                    mean = sum(s * torch.tensor(c) for s, c in zip(means.shares(sent), changes, strict=True))
                    p += self.rate * mean
            self.rounds += 1

        def save(self, folder: Path) -> None:
            torch.save([self.model.state_dict(), self.rounds], folder / "kept")

        def load(self, folder: Path) -> None:
            model, self.rounds = torch.load(folder / "kept")
            self.model.load_state_dict(model)

    subject = servers.Servers("ours", "0", [(Claim("fedavg", "server", "mcmahan-2017"), Server)])
    (found,) = check_subject(subject, law="follows-*")
    assert found.passed == found.required > 0
    case = Case("fedavg", "server", "mcmahan-2017", {}, "float64", {"x": np.zeros(2)}, {"eta": 1.0})
    sent = Messages((ClientMessage(0, {"x": np.array([1.0, 2.0])}, 1, 1, 1),))
    first, second = subject.start(case), subject.start(case)
    first.step(sent)
    second.restore(first.save())
    assert second.server.rounds == 1
    assert second.step(sent)["x"]["x"].tolist() == [2.0, 4.0]


def test_private_averages_hand_over_messages_and_noise(at: Any) -> None:
    private, means = at("private"), at("means")

    def begins(case: Case, draws: Any) -> Any:
        def next_model(x: Any, sent: Any) -> Any:
            short = [row / max(1, np.linalg.norm(row)) for row in means.rows(sent)]
            mean, out = means.shares(sent) @ short, {}
            for name, a in x.items():
                part, mean = np.split(mean, [a.size])
                out[name] = a + part.reshape(a.shape) + draws.normal(0, 0.5 / len(sent), a.shape)
            return {name: a.astype(case.dtype) for name, a in out.items()}

        return next_model

    claim = Claim("fedavg", "server", "mcmahan-2017", fixed={"eta": 1.0}, messages=("clip-norm 1", "noise 0.5"))
    (found,) = check_subject(private.Private("ours", "0", [(claim, begins)]), law="follows-*")
    assert found.passed == found.required > 0


@pytest.mark.parametrize("own", [True, False])
def test_rounds_hand_over_models_with_local_blocks(at: Any, own: bool) -> None:
    personal, torch = at("personal"), at("torch")

    def begins(models: Any, examples: Any, train: Any) -> Any:
        def runs(participants: Any, steps: Any) -> Any:
            for i, tau in zip(participants, steps, strict=True):
                train(models[i], i, tau)
            n = torch.tensor(examples[list(participants)])
            blocks = {name for name, _ in models[0].named_parameters() if name != "head" or not own}
            for name in blocks:
                trained = [getattr(models[i], name).detach() for i in participants]
                mean = sum(w * p for w, p in zip((n / n.sum()).tolist(), trained, strict=True))
                for model in models:
                    getattr(model, name).data = mean.clone()
            return dict(models[0].named_parameters())

        return runs

    subject = personal.Personal("ours", "0", [(personal.offer("head"), begins)])
    if own:
        (found,) = check_subject(subject, law="follows-*")
        assert found.passed == found.required > 0
    else:
        assert deviates(subject, "follows-*")
