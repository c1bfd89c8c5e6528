"""Changes of the model at a step: torch's AdamW and plain loops as second routes, and mistakes that get names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.diagnosing import named, written
from test_judge.test_schedules import judged

from fedspec.arith import Array
from fedspec.contract import Begin, Blocks, Case, Claim, Gradient, Info, Quadratics, Round
from fedspec.errors import ContractError
from fedspec.params import flatten
from fedspec.reference import SUBJECT
from fedspec.steps import steps_of
from fedspec_suite.api import check_subject
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import check_offer, setting_of, with_reading

ADAM = {"eta_l": 0.1, "beta1": 0.75, "beta2": 0.5, "eps": 0.125}


@pytest.mark.parametrize("scheduled", [False, True])
def test_adam_with_a_decoupled_decay_is_torchs_adamw(scheduled: bool) -> None:
    """Also where a schedule changes the rate, and with it the decay."""
    rng = np.random.default_rng(1)
    x0, gradients = rng.standard_normal(4), rng.standard_normal((7, 4))
    claim = with_reading(Claim("adam", "client"))
    options = setting_of(claim).options
    case = Case("adam", "client", claim.reading, options, "float64", {"w": x0}, ADAM, steps=("decoupled-decay 0.5",))
    case = replace(case, schedules={"eta_l": "cosine-unclamped/step period=4 floor=0"} if scheduled else {})
    session, p = SUBJECT.start(case), torch.nn.Parameter(torch.tensor(x0))
    optimiser = torch.optim.AdamW([p], 0.1, (0.75, 0.5), 0.125, weight_decay=0.5)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, 4)
    for g in gradients:
        p.grad = torch.tensor(g)
        optimiser.step()
        if scheduled:
            scheduler.step()
        assert session.step(Gradient({"w": g}))["x"] == pytest.approx(p.detach().numpy(), rel=1e-13)


Make = Callable[[list[torch.nn.Parameter], Any], torch.optim.Optimizer]


def sgd(parts: list[torch.nn.Parameter], h: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parts, lr=h["eta_l"], momentum=h["rho"])


def coupled(parts: list[torch.nn.Parameter], h: Any) -> torch.optim.Optimizer:
    return torch.optim.SGD(parts, lr=h["eta_l"], momentum=h["rho"], weight_decay=0.25)


def adamw(parts: list[torch.nn.Parameter], h: Any) -> torch.optim.Optimizer:
    return torch.optim.AdamW(parts, h["eta_l"], (h["beta1"], h["beta2"]), h["eps"], weight_decay=0.25)


class Local:
    """A solver of torch at level client, with a decay of the model by hand and lookahead as a plain loop."""

    def __init__(self, claim: Claim, make: Make = sgd, **does: Any) -> None:
        self.info, self.make, self.does = Info("mine", "1", (claim,)), make, does

    def start(self, case: Case) -> Any:
        return Steps(case, self.make, **self.does)


class Steps:
    def __init__(
        self,
        case: Case,
        make: Make,
        decay: float = 0.0,
        rated: bool = True,
        late: bool = False,
        look: tuple[int, float] = (0, 0.0),
        kept: bool = False,
        flat: bool = True,
        fresh: bool = False,
        counts: tuple[int, int, bool] = (0, 1, True),
    ) -> None:
        self.flat, self.fresh = flat, fresh
        self.first, self.ticks, self.anew = counts
        self.count = self.first
        self.case, self.make, self.look, self.kept, self.late = case, make, look, kept, late
        self.factor = 1 - decay * (case.hyper["eta_l"] if rated else 1)
        self.slow: list[Any] = []
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        self.parts = {n: torch.nn.Parameter(torch.tensor(a)) for n, a in x.items()}
        self.optimiser = self.make([*self.parts.values()], self.case.hyper)
        self.count = self.first if self.anew else self.count
        if not (self.kept and self.slow):
            self.slow = [p.detach().clone() for p in self.parts.values()]

    def step(self, event: Any) -> dict[str, Any]:
        if isinstance(event, Begin):
            self.begin(event.x)
            return self.shown()
        for name, g in event.g.items():
            self.parts[name].grad = torch.tensor(g.mean(0) if g.ndim > self.parts[name].ndim else g)
        with torch.no_grad():
            for p in self.parts.values():
                p.mul_(1 if self.late or not (self.flat or p.ndim > 1) else self.factor)
            self.optimiser.step()
            self.count += self.ticks
            for p, slow in zip(self.parts.values(), self.slow, strict=True):
                p.mul_(self.factor if self.late else 1)
                if self.look[0] and self.count % self.look[0] == 0:
                    slow.lerp_(p, self.look[1])
                    p.copy_(slow)
                    if self.fresh:
                        self.optimiser.state.clear()
        return self.shown()

    def shown(self) -> dict[str, Any]:
        return {"x": {n: p.detach().numpy().copy() for n, p in self.parts.items()}}


def momentum(*steps: str, gradients: tuple[str, ...] = ()) -> Claim:
    return Claim("momentum", "client", steps=steps, gradients=gradients)


DECAY, LOOK = "decoupled-decay 0.25", "lookahead 3 0.75"


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "subject",
    [
        Local(Claim("adam", "client", steps=(DECAY,)), adamw),
        Local(momentum(DECAY), decay=0.25),
        Local(momentum("decoupled-decay-alone 0.25"), decay=0.25, rated=False),
        Local(momentum("decoupled-decay-after 0.25"), decay=0.25, late=True),
        Local(momentum(LOOK), look=(3, 0.75)),
        Local(momentum(DECAY, LOOK), decay=0.25, look=(3, 0.75)),
        Local(momentum("lookahead 12 0.5"), look=(12, 0.5)),
    ],
)
def test_a_solver_with_the_steps_that_it_claims_conforms(subject: Local) -> None:
    result = judged(subject)
    assert result.verdict == "conforms", result.first_deviation
    assert "steps " in result.declared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (Local(momentum(DECAY)), "no decoupled-decay 0.25 at a step"),
        (Local(momentum(DECAY), coupled), "decay 0.25 is added to the gradient (coupled), not decoupled-decay 0.25"),
        (
            Local(momentum(gradients=("decay 0.25",)), decay=0.25),
            "decoupled-decay 0.25 moves the model, not decay 0.25 its gradient",
        ),
        (
            Local(momentum(DECAY), decay=0.25, rated=False),
            "decoupled-decay-alone 0.25 at a step, not decoupled-decay 0.25",
        ),
        (
            Local(momentum(DECAY), decay=0.25, late=True),
            "decoupled-decay-after 0.25 at a step, not decoupled-decay 0.25",
        ),
        (Local(momentum(DECAY), decay=0.125), "decoupled-decay 0.125 at a step, not decoupled-decay 0.25"),
        (
            Local(momentum(DECAY), decay=0.25, flat=False),
            "decoupled-decay 0.25 leaves out blocks with fewer than two axes",
        ),
        (Local(momentum(LOOK), look=(3, 0.75), fresh=True), "u begins again at each synchronisation of lookahead"),
        (Local(momentum(LOOK)), "no lookahead 3 0.75 at a step"),
        (Local(momentum(LOOK), look=(4, 0.75)), "lookahead 4 0.75 at a step, not lookahead 3 0.75"),
        (Local(momentum(LOOK), look=(3, 0.25)), "lookahead 3 0.25 at a step, not lookahead 3 0.75"),
        (
            Local(momentum(LOOK), look=(3, 0.75), kept=True),
            "the slow model of lookahead is kept from round to round, not set to the round's first model",
        ),
        (Local(momentum(DECAY, LOOK), decay=0.25), "no lookahead 3 0.75 at a step"),
        (Local(momentum(LOOK), look=(3, 0.75), counts=(-1, 1, True)), "lookahead counts steps from 0"),
        (Local(momentum(LOOK), look=(3, 0.75), counts=(0, 1, False)), "lookahead counts all steps, not those of"),
        (
            Local(
                momentum("lookahead 4 0.75", gradients=("accumulate-batches 2",)), look=(4, 0.75), counts=(0, 2, True)
            ),
            "lookahead counts micro-batches, not steps",
        ),
    ],
)
def test_another_change_of_the_model_gets_a_name(subject: Local, words: str) -> None:
    said = named(subject)
    assert words in said, said


def looped(h: Any, x: Array, gradient: Callable[[int, Array], Array], tau: int) -> Array:
    """Momentum with a pull inside its buffer, a decay of 0.25 and lookahead 2 0.75, in one loop."""
    y, slow, u = x, x, 0 * x
    for k in range(tau):
        g = gradient(k, y)
        y = y * (1 - 0.25 * h["eta_l"])
        u = h.get("rho", 0) * u + g + h.get("mu", 0) * (y - x)
        y = y - h["eta_l"] * u
        if k % 2 == 1:
            slow = 0.25 * slow + 0.75 * y
            y = slow
    return y


def entries(h: Any, tau: int) -> float:
    """Sum of a_i: each entry is the change by a gradient of 1 in one step and of 0 in the others."""
    unit = [looped(h, np.zeros(1), lambda k, y, at=at: np.ones(1) * (k == at), tau)[0] for at in range(tau)]  # type: ignore[misc]
    return float(-sum(unit) / h["eta_l"])


class Rounds:
    """FedAvg, FedProx or FedNova at level round by hand."""

    def __init__(self, algorithm: str, **options: str) -> None:
        self.nova = algorithm == "fednova"
        shown = ("tau_eff",) if self.nova else ()
        steps = (DECAY, "lookahead 2 0.75")
        claim = Claim(algorithm, "round", options=options, intermediates=shown, steps=steps)
        self.info = Info("mine", "1", (claim,))

    def start(self, case: Case) -> Any:
        return Whole(case, self.nova)


class Whole:
    def __init__(self, case: Case, nova: bool) -> None:
        assert case.problem is not None
        self.x, self.h, self.nova = flatten(case.x0), case.hyper, nova
        self.problem: Quadratics = case.problem

    def step(self, event: Round) -> dict[str, Any]:
        p, x = self.problem, self.x
        S, h = [*event.participants], self.h
        shown: dict[str, Any] = {}
        share = p.examples[S] / p.examples[S].sum()
        delta = [
            looped(h, x, lambda k, y, i=i: p.H[i] @ y - p.e[i], tau) - x  # type: ignore[misc]
            for i, tau in zip(S, event.steps, strict=True)
        ]
        if self.nova:
            a = np.array([entries(h, tau) for tau in event.steps])
            shown["tau_eff"] = share @ a
            self.x = x + shown["tau_eff"] * sum(s * d / n for s, d, n in zip(share, delta, a, strict=True))
        else:
            self.x = x + h["eta"] * (share @ np.array(delta))
        self.x = np.asarray(self.x).astype(x.dtype)
        return {"x": self.x, **shown}


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("subject", "unseen"),
    [
        (Rounds("fedavg", weights="examples"), []),
        (Rounds("fedprox", weights="examples"), []),
        (Rounds("fednova", weights="examples", solver="momentum"), ["fednova.a", "fednova.a_momentum"]),
        (Rounds("fednova", weights="examples", solver="momentum-proximal-inside"), ["fednova.a", "fednova.a_inside"]),
    ],
)
def test_the_clients_of_a_round_have_the_steps_too(subject: Rounds, unseen: list[str]) -> None:
    """FedNova's a_i is then that of no equation on the page, which stays uncompared."""
    result = judged(subject)
    assert result.verdict == ("conforms in part" if unseen else "conforms"), result.first_deviation
    assert [one.equation for one in result.unseen] == unseen


class Counting(Rounds):
    """FedAvg with lookahead 2 0.75 at level round, whose optimiser objects live longer than a round of a client."""

    def __init__(self, of_client: bool, of_round: bool, by_block: bool = False) -> None:
        super().__init__("fedavg")
        (claim,) = self.info.claims
        self.info, self.life = Info("mine", "1", (replace(claim, steps=claim.steps[1:]),)), (of_client, of_round)
        self.by_block = by_block

    def start(self, case: Case) -> Any:
        whole, counts, (of_client, of_round) = Whole(case, False), dict[int, int](), self.life
        p = whole.problem
        sizes = [a.size for a in case.x0.values()] if self.by_block else [whole.x.size]
        blocks = np.split(np.arange(whole.x.size), np.cumsum(sizes)[:-1])

        def step(event: Round) -> dict[str, Any]:
            if of_round:
                counts.clear()
            S, ends = [*event.participants], []
            for i, tau in zip(S, event.steps, strict=True):
                y = whole.x
                slow, at = whole.x.copy(), i if of_client else -1
                for _ in range(tau):
                    y = y - whole.h["eta_l"] * (p.H[i] @ y - p.e[i])
                    for block in blocks:
                        counts[at] = counts.get(at, 0) + 1
                        if counts[at] % 2 == 0:
                            y[block] = slow[block] = 0.25 * slow[block] + 0.75 * y[block]
                ends.append(y - whole.x)
            share = p.examples[S] / p.examples[S].sum()
            whole.x = np.asarray(whole.x + whole.h["eta"] * (share @ np.array(ends))).astype(whole.x.dtype)
            return {"x": whole.x}

        return SimpleNamespace(step=step)


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("life", "words"),
    [
        ((True, True, True), "lookahead counts once for each block of the model, not once a step"),
        ((True, False), "lookahead counts a client's steps of all its rounds, not those of the round"),
        ((False, True), "lookahead counts the steps of all clients of the round, not those of each"),
        ((False, False), "lookahead counts the steps of all clients and rounds, not those of each client in the"),
    ],
)
def test_a_count_that_outlives_a_clients_round_gets_a_name(life: tuple[bool, ...], words: str) -> None:
    said = named(Counting(*life))
    assert words in said, said


@pytest.mark.slow
@pytest.mark.parametrize(
    ("algorithm", "options", "words"),
    [
        ("fedavg", {}, "0.25 x is added to every gradient"),
        ("fednova", {"solver": "momentum"}, "decoupled-decay 0.25 at a step, which isn't claimed"),
    ],
)
def test_a_decay_of_a_round_that_is_not_claimed_gets_a_name(
    algorithm: str, options: dict[str, str], words: str
) -> None:
    """For plain SGD the coupled and the decoupled decay are one rule."""
    subject = Rounds(algorithm, weights="examples", **options)
    (claim,) = subject.info.claims
    subject.info = Info("mine", "1", (replace(claim, steps=claim.steps[1:]),))
    said = named(subject)
    assert words in said, said


@pytest.mark.parametrize(
    "said",
    [
        ["decay 1"],
        ["decoupled-decay"],
        ["decoupled-decay 0"],
        ["decoupled-decay 1 2"],
        ["lookahead 5"],
        ["lookahead 0 0.5"],
        ["lookahead 2.5 0.5"],
        ["lookahead 5 1.5"],
        [LOOK, LOOK],
        [LOOK, DECAY],
        [DECAY, DECAY],
    ],
)
def test_what_is_no_change_of_the_model_is_refused(said: list[str]) -> None:
    with pytest.raises(ContractError, match="write at most one of decoupled-decay"):
        steps_of(said)


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (Claim("fedavg", "server", steps=(DECAY,)), "shows no step; claim the local solver at level client"),
        (Claim("scaffold", "round", steps=(DECAY,)), "a loop of their own; claim the local solver"),
        (Claim("diloco", "round", steps=(LOOK,)), "a loop of their own; claim the local solver"),
        (Claim("fednova", "round", options={"solver": "momentum-proximal-outside"}, steps=(LOOK,)), "pulls to its"),
        (Claim("fednova", "round", "wang-2020-code", steps=(LOOK,)), "norm counts"),
        (Claim("sgd", "client", steps=("lookahead 21 0.5",)), "cases reach 20 steps, so lower k"),
    ],
)
def test_a_claim_names_steps_that_its_level_shows(claim: Claim, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        check_offer(claim, setting_of(with_reading(Claim(claim.algorithm, claim.level))).algorithm)


@pytest.mark.parametrize(("algorithm", "level"), [("sgd", "client"), ("fedavg", "round")])
def test_small_cases_reach_two_synchronisations(algorithm: str, level: Any) -> None:
    setting = setting_of(with_reading(Claim(algorithm, level, steps=("lookahead 12 0.5",))))
    drawn = draw_cases(scenarios(setting), 40, seed=0)
    longest = [len(s.events) if level == "client" else max(max(e.steps) for e in s.events) for s in drawn]  # type: ignore[union-attr]
    assert max(longest) >= 24


def test_the_slow_model_is_saved_and_restored() -> None:
    resumed = written(replace(momentum(LOOK), resumes=True), SUBJECT.start)
    (result,) = check_subject(resumed, profile="quick", law="resumes")
    assert not result.first_deviation and result.passed
