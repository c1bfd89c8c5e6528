"""Models in parts: loops by hand and torch's modules as the second route, and mistakes that get names."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest
import torch
from test_judge.diagnosing import named, written
from test_judge.test_schedules import judged
from torch.nn.utils import clip_grad_norm_

from fedspec.arith import Array
from fedspec.contract import Begin, Blocks, Case, Claim, ClientMessage, Event, Messages, Round
from fedspec.errors import ContractError
from fedspec.local_blocks import OwnBlocks
from fedspec.params import flatten
from fedspec.parts import grown, shared, smaller
from fedspec.plan import Plan
from fedspec.problems.quadratic import QuadraticClients
from fedspec.reference import SUBJECT
from fedspec.wire import decode_case, encode
from fedspec_suite.judge.first_play import first_case
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.edge_cases import edge_cases
from fedspec_suite.measure.far_cases import far_scenarios
from fedspec_suite.measure.seeded_cases import candidate
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import check_offer, find, setting_of, with_reading

HEAD, EMBEDDING, TIED = {"head": "local"}, {"emb": "frozen"}, {"head": "tied emb"}


def adapter(claim: Claim, session: Callable[[Case, str], Any], does: str = "") -> Any:
    return written(claim, lambda case: session(case, does))


class Rounds:
    """FedAvg or FedProx with a model of parts: each client trains its own head, or another as ``does`` says."""

    def __init__(self, case: Case, does: str) -> None:
        self.case, self.does = case, does
        self.x = {n: a.astype(float) for n, a in case.x0.items()}
        self.own: dict[int, Array] = {}

    def gradient(self, i: int, y: Mapping[str, Array]) -> dict[str, Array]:
        p = cast(Any, self.case.problem)
        flat = p.H[i] @ np.concatenate([a.ravel() for a in y.values()]) - p.e[i]
        ends = np.cumsum([a.size for a in y.values()])[:-1]
        return {n: g.reshape(y[n].shape) for n, g in zip(y, np.split(flat, ends), strict=True)}

    def owner(self, i: int, place: int) -> int:
        """The number under which a client's own head is kept."""
        return {"one copy": 0, "by place": place}.get(self.does, i)

    def trained(self, i: int, place: int, steps: int) -> dict[str, Array]:
        """The model of client i after its steps; blocks follow their words."""
        words, h = self.case.parts, self.case.hyper
        y = {**self.x}
        if "local" in words.values():
            last = [*self.own.values()][-1:] if self.does == "from the last" else []
            y["head"] = self.own.get(self.owner(i, place), *(last or [self.x["head"]]))
        if self.does in ("reset", "averaged", "averaged unseen"):
            y["head"] = self.x["head"]
        begun = {**y, "head": self.x["head"]} if self.does == "pulled to the server's" else {**y}
        for _ in range(steps):
            g = self.gradient(i, y)
            if self.does in ("head first", "head last"):
                sooner = {n for n in g if (n == "head") == (self.does == "head first")}
                moved = {n: y[n] - h["eta_l"] * g[n] if n in sooner else y[n] for n in y}
                g = {n: a if n in sooner else self.gradient(i, moved)[n] for n, a in g.items()}
            if words.get("head") == "tied emb" and self.does != "untied":
                g["emb"] = g["head"] = g["emb"] + g["head"]
            still = {n for n, word in words.items() if word == "frozen" and self.does != "trained"}
            if self.case.gradients:
                counted = [a.ravel() for n, a in g.items() if n not in still or self.does == "counted"]
                length = np.linalg.norm(np.concatenate(counted))
                g = {n: a * min(1.0, 0.25 / length) if length else a for n, a in g.items()}
            pull = h.get("mu", 0)
            y = {n: a if n in still else a - h["eta_l"] * (g[n] + pull * (a - begun[n])) for n, a in y.items()}
        return y

    def step(self, event: Round) -> dict[str, Any]:
        p, old = cast(Any, self.case.problem), self.x
        total, mean = sum(p.examples[i] for i in event.participants), {n: 0 * a for n, a in old.items()}
        for place, (i, steps) in enumerate(zip(event.participants, event.steps, strict=True)):
            y = self.trained(i, place, steps)
            mean = {n: a + p.examples[i] / total * (y[n] - old[n]) for n, a in mean.items()}
            if "head" in y:
                self.own = {k: a for k, a in self.own.items() if self.does != "forgotten" or k in event.participants}
                self.own.pop(self.owner(i, place), None)
                self.own[self.owner(i, place)] = y["head"]
        stays = {n for n, word in self.case.parts.items() if word in ("local", "kept") and "averaged" not in self.does}
        self.x = {n: a if n in stays else a + self.case.hyper["eta"] * mean[n] for n, a in old.items()}
        shown = {**self.x, "head": self.case.x0["head"]} if self.does == "averaged unseen" else self.x
        return {"x": {n: a.astype(self.case.dtype) for n, a in shown.items()}}

    def save(self) -> bytes:
        return pickle.dumps((self.x, {} if self.does == "lost" else self.own))

    def restore(self, saved: bytes) -> None:
        self.x, self.own = pickle.loads(saved)


EXAMPLES = {"weights": "examples"}
SHORT = ("clip-norm 0.25",)
OF_ROUND = Claim("fedavg", "round", options=EXAMPLES, parts=HEAD, dtypes=("float64",))


class Server:
    """FedAdam by hand, whose server leaves the block ``bn`` as it is; or a server without it."""

    def __init__(self, case: Case, does: str) -> None:
        self.case, self.h, self.does = case, case.hyper, does
        self.x = {n: a.astype(float) for n, a in case.x0.items()}
        self.m = {n: 0 * a for n, a in self.x.items()}
        self.v = {n: self.h["v0"] + 0 * a for n, a in self.x.items()}

    def step(self, event: Messages) -> dict[str, Any]:
        h, total = self.h, sum(m.weight for m in event.messages)
        moved = [n for n in event.messages[0].delta if n != "bn" or self.does == "averaged"]
        for n in moved:
            mean = sum(m.weight / total * m.delta[n] for m in event.messages)
            self.m[n] = h["beta1"] * self.m[n] + (1 - h["beta1"]) * mean
            self.v[n] = h["beta2"] * self.v[n] + (1 - h["beta2"]) * mean**2
            self.x[n] = self.x[n] + h["eta"] * self.m[n] / (np.sqrt(self.v[n]) + h["tau"])
        if "tied" in self.case.parts.get("bn", "") and self.does != "stays":
            self.x["bn"] = self.x["emb"]
        names = moved if self.does == "short" else [*self.x]
        return {"x": {n: self.x[n].astype(self.case.dtype) for n in names}, "m": {n: self.m[n] for n in moved}}


def of_server(said: str) -> Claim:
    return Claim("fedadam", "server", options=EXAMPLES, intermediates=("m",), parts={"bn": said})


class Net(torch.nn.Module):
    """Parameters of a case; ``head`` is the parameter ``emb`` again, and ``emb`` may be frozen."""

    def __init__(self, x: Blocks, parts: Mapping[str, str], does: str) -> None:
        super().__init__()
        self.held = torch.nn.ParameterDict()
        self.names = {n: f"p{k}" for k, n in enumerate(x)}
        for n, a in x.items():
            self.held[self.names[n]] = torch.nn.Parameter(torch.tensor(a), requires_grad=parts.get(n) != "frozen")
        if "head" in parts and does != "untied":
            self.held[self.names["head"]] = self.held[self.names["emb"]]

    def use(self, name: str) -> torch.Tensor:
        return self.held[self.names[name]]


class Client:
    """SGD of torch on a module with parts; autograd adds up the gradients of both uses."""

    def __init__(self, case: Case, does: str) -> None:
        self.case, self.does = case, does
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        h, self.net = self.case.hyper, Net(x, self.case.parts, self.does)
        if self.does == "untied by loading" and x is not self.case.x0:
            self.net = Net(x, self.case.parts, "untied")
        decay = 0.5 if "decay 0.5" in self.case.gradients else 0.0
        again = [self.net.use("head")] if self.does == "twice" else []
        groups = [[*self.net.parameters()], again]
        self.optimisers = [
            torch.optim.SGD(some, lr=h["eta_l"], momentum=h.get("rho", 0), weight_decay=decay)
            for some in groups
            if some
        ]

    def step(self, event: Event) -> dict[str, Any]:
        if isinstance(event, Begin):
            self.begin(event.x)
        else:
            self.moved(cast(Any, event).g)
        return {"x": {n: self.net.use(n).detach().numpy().copy() for n in self.case.x0}}

    def moved(self, g: Blocks) -> None:
        weights = {"emb": 0.0} if self.does == "one use" else {"head": 0.5, "emb": 0.5} if self.does == "mean" else {}
        self.net.zero_grad()
        sum((weights.get(n, 1.0) * torch.tensor(a) * self.net.use(n)).sum() for n, a in g.items()).backward()  # type: ignore[union-attr]
        parameters = [*self.net.parameters()]
        for p in parameters:
            if p.grad is None and self.does == "zeros":
                p.grad = torch.zeros_like(p)
        if self.case.gradients:
            if self.does == "both uses":
                uses = [self.net.use(n).grad for n in self.case.x0]
                length = float(torch.cat([cast(Any, u).reshape(-1) for u in uses]).norm())
                for p in parameters:
                    cast(Any, p.grad).mul_(min(1.0, 0.75 / (length + 1e-6)))
            else:
                clip_grad_norm_(parameters, 0.75)
        for optimiser in self.optimisers:
            optimiser.step()


CLIPPED = ("clip-norm-eps 0.75", "decay 0.5")
FROZEN = Claim("momentum", "client", gradients=CLIPPED, parts=EMBEDDING)
ONE_PARAMETER = Claim("momentum", "client", gradients=CLIPPED, parts=TIED)


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "subject",
    [
        adapter(OF_ROUND, Rounds),
        adapter(replace(OF_ROUND, algorithm="fedprox", parts={**HEAD, "emb": "frozen"}, resumes=True), Rounds),
        adapter(replace(OF_ROUND, parts=TIED), Rounds),
        adapter(replace(OF_ROUND, parts={"head": "kept"}), Rounds),
        adapter(replace(OF_ROUND, parts=EMBEDDING, gradients=SHORT), Rounds),
        adapter(of_server("kept"), Server),
        adapter(of_server("local"), Server, "short"),
        adapter(of_server("frozen"), Server),
        adapter(of_server("tied emb"), Server),
        adapter(FROZEN, Client),
        adapter(ONE_PARAMETER, Client),
        adapter(Claim("sgd", "client", parts=TIED), Client),
    ],
)
def test_a_model_in_the_parts_that_it_claims_conforms(subject: Any) -> None:
    result = judged(subject)
    assert result.verdict == "conforms", (result.first_deviation, result.nearest)
    assert "parts " in result.declared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (adapter(OF_ROUND, Rounds, "averaged"), "block head is averaged, but it is claimed as local"),
        (adapter(OF_ROUND, Rounds, "averaged unseen"), "block head is averaged among the clients, but it is claimed"),
        (adapter(OF_ROUND, Rounds, "reset"), "block head is trained, and starts again from the server's in every"),
        (adapter(OF_ROUND, Rounds, "forgotten"), "block head of a client that sat out starts again from the server's"),
        (adapter(OF_ROUND, Rounds, "by place"), "block head belongs to the client's place in the round"),
        (
            adapter(replace(OF_ROUND, algorithm="fedprox"), Rounds, "pulled to the server's"),
            "block head is pulled to the server's, not to the client's own",
        ),
        (
            adapter(OF_ROUND, Rounds, "from the last"),
            "block head of a client that has none begins as the client before",
        ),
        (adapter(OF_ROUND, Rounds, "head first"), "block head is stepped first, and the others' gradient sees its new"),
        (adapter(OF_ROUND, Rounds, "head last"), "block head is stepped last, and its gradient sees the others' new"),
        (adapter(OF_ROUND, Rounds, "one copy"), "block head is that of the client that trained before"),
        (adapter(replace(OF_ROUND, parts=EMBEDDING), Rounds, "trained"), "block emb is averaged"),
        (
            adapter(replace(OF_ROUND, parts=EMBEDDING, gradients=SHORT), Rounds, "counted"),
            "block emb counts in norms, but",
        ),
        (adapter(replace(OF_ROUND, parts=TIED), Rounds, "untied"), "block head is a parameter of its own"),
        (adapter(of_server("kept"), Server, "averaged"), "block bn is averaged, but it is claimed as kept"),
        (adapter(of_server("tied emb"), Server, "stays"), "block bn stays as it is, but it is claimed as tied to emb"),
        (adapter(FROZEN, Client, "zeros"), "block emb is decayed or moves by momentum, but it is claimed as frozen"),
        (adapter(ONE_PARAMETER, Client, "untied"), "block head is stepped by its own gradient"),
        (
            adapter(Claim("momentum", "client", parts=TIED), Client, "untied by loading"),
            "block head is a parameter of its own once a round's model is loaded",
        ),
        (adapter(ONE_PARAMETER, Client, "one use"), "block head has the gradient of its use as head alone"),
        (adapter(ONE_PARAMETER, Client, "mean"), "block head has the mean of its gradients"),
        (adapter(ONE_PARAMETER, Client, "both uses"), "block head counts in norms beside emb"),
        (adapter(Claim("sgd", "client", parts=TIED), Client, "twice"), "block head is stepped twice, once per use"),
    ],
)
def test_a_block_that_is_treated_otherwise_gets_a_name(subject: Any, words: str) -> None:
    said = named(subject)
    assert words in said, said


def test_a_local_block_that_a_restore_loses_gets_a_name() -> None:
    result = judged(adapter(replace(OF_ROUND, resumes=True), Rounds, "lost"))
    assert result.verdict == "does not conform" and "local_blocks is at its initial value" in result.first_deviation


SAID: list[Claim] = [
    Claim("momentum", "client", parts={"w": "frozen", "fc.weight": "tied conv1.weight"}),
    Claim("fedavg", "server", parts={"b": "kept", "w": "tied c"}),
    Claim("fedavg", "round", parts={"w": "local", "b": "frozen"}),
    Claim("muon", "client", parts={"w": "frozen", "b": "tied c"}),
]


@pytest.mark.parametrize("claim", SAID)
def test_each_case_has_the_claimed_blocks_and_another(claim: Claim) -> None:
    setting = setting_of(with_reading(claim))
    cases = [first_case(setting), *edge_cases(setting), *(candidate(setting, "parts", k) for k in range(6))]
    cases += draw_cases(scenarios(setting), 6, seed=0)
    cases += [s for side in ("coordinates", "numbers") for s in draw_cases(far_scenarios(setting, side), 2, seed=0)]
    for s in cases:
        assert s.case.parts == claim.parts and {*claim.parts} < {*s.case.x0}
        for name, said in claim.parts.items():
            other = said.partition(" ")[2]
            assert not other or (s.case.x0[name] == s.case.x0[other]).all()
            sent = [m.delta for e in s.events for m in getattr(e, "messages", ())]
            sent += [e.g for e in s.events if hasattr(e, "g")]
            assert all(
                (name in blocks) == (said == "kept" or bool(other and claim.level == "client")) for blocks in sent
            )


def test_a_case_with_parts_goes_over_the_wire() -> None:
    case = first_case(setting_of(with_reading(FROZEN))).case
    assert decode_case(json.loads(json.dumps(encode(case)))).parts == EMBEDDING


def test_the_blocks_of_a_claim_may_have_the_names_of_other_blocks() -> None:
    case = Case("fedavg", "server", "", EXAMPLES, "float64", {"a": np.ones(1), "w": np.ones(2)}, {"eta": 1.0})
    sent = (ClientMessage(0, {"a": np.ones(1)}, 1, 1, 1),)
    session = SUBJECT.start(replace(case, parts={"w": "local"}))
    assert np.array_equal(cast(Array, session.step(Messages(sent))["x"]), [2.0, 1.0, 1.0])


def of_round(claim: Claim) -> Any:
    """A case of several rounds of a claim, with the same clients in each."""
    cases = draw_cases(scenarios(setting_of(with_reading(claim)), rounds=(3, 3), everyone=True), 8, seed=2)
    return max(cases, key=lambda s: len(s.case.problem.e) + sum(s.events[0].steps))


def test_the_losses_are_those_of_the_whole_model() -> None:
    parts = {"emb": "frozen", "head": "tied body"}
    case = of_round(Claim("q-fedavg", "round", parts=parts)).case
    within = smaller(case)
    z = np.arange(1.0, 1 + sum(a.size for a in within.x0.values()))
    small, whole = (QuadraticClients(p.H, p.e, p.f).clients for p in (within.problem, case.problem))
    x = grown(z, case)
    assert [F.value(z) for F in cast(Any, small)] == pytest.approx([F.value(x) for F in cast(Any, whole)], rel=1e-12)


def test_the_losses_of_a_round_are_those_before_its_steps() -> None:
    s = of_round(Claim("q-fedavg", "round", parts=HEAD))
    clients, x = QuadraticClients(*(getattr(s.case.problem, n) for n in "Hef")).clients, flatten(shared(s.case))
    apart, e = OwnBlocks(clients, s.case, {}), s.events[0]
    apart.each(lambda i, y, g, tau: -g(0, y) / 8, Plan(e.participants, e.steps, (1.0,) * len(e.steps)), x)
    assert apart.after and apart.values((0,), x) == [cast(Any, clients[0]).value(flatten(s.case.x0))]


def test_a_restored_session_of_the_specification_has_its_local_blocks() -> None:
    s = of_round(replace(OF_ROUND, resumes=True))
    first, again = SUBJECT.start(s.case), cast(Any, SUBJECT.start(s.case))
    for e in s.events[:-1]:
        first.step(e)
    again.restore(cast(Any, first).save())
    assert np.array_equal(cast(Array, first.step(s.events[-1])["x"]), again.step(s.events[-1])["x"])


REFUSED: dict[str, Claim] = {
    "write one of local, kept, frozen": Claim("fedavg", "server", parts={"w": "mine"}),
    "or 'tied' and a block": Claim("fedavg", "server", parts={"w": "tied"}),
    "tie it to another block": Claim("fedavg", "server", parts={"w": "tied w"}),
    "that has no word": Claim("fedavg", "server", parts={"w": "tied b", "b": "local"}),
    "blocks='one'": Claim("fedavg", "server", blocks="one", parts={"w": "local"}),
    "where nothing is sent": Claim("momentum", "client", parts={"w": "kept"}),
    "at level trace": Claim("fedbuff", "trace", parts={"w": "frozen"}),
    "claim level server": Claim("scaffold", "round", parts={"w": "local"}),
    "may count the block or not": Claim("fedavg", "server", messages=("clip-norm 1",), parts={"w": "kept"}),
    "make two claims": Claim("fedavg", "server", faults={"nan": "skips"}, parts={"w": "local"}),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_claim_of_parts_that_makes_no_sense_is_refused(words: str) -> None:
    with pytest.raises(ContractError, match=words.replace("(", r"\(")):
        check_offer(REFUSED[words], find(REFUSED[words].algorithm))


def test_a_smoke_test_has_the_claimed_blocks() -> None:
    s = plain_scenario(setting_of(with_reading(replace(OF_ROUND, parts={**HEAD, "emb": "frozen"}))))
    assert {"head", "emb"} < {*s.case.x0} and SUBJECT.start(s.case).step(s.events[0])["x"].size


def test_an_error_of_an_adapter_is_shown_and_not_one_about_its_blocks() -> None:
    class Broken:
        def __init__(self, case: Case, does: str) -> None:
            raise RuntimeError("the clone lacks a file")

    result = judged(adapter(OF_ROUND, Broken))
    assert "the clone lacks a file" in result.first_deviation + result.nearest, result
