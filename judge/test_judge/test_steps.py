"""Changes of the model at a step: torch's AdamW and plain loops as second routes, and mistakes that get names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.by_hand import Clients
from test_judge.diagnosing import named, written
from test_judge.test_schedules import judged

from fedspec.arith import Array
from fedspec.contract import Begin, Blocks, Case, Claim, Gradient
from fedspec.errors import ContractError
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


def local(claim: Claim, make: Make = sgd, **does: Any) -> Any:
    """A solver of torch at level client, with a decay of the model by hand and lookahead as a plain loop."""
    return written(claim, lambda case: Steps(case, make, **does))


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
        local(Claim("adam", "client", steps=(DECAY,)), adamw),
        local(momentum(DECAY), decay=0.25),
        local(momentum("decoupled-decay-alone 0.25"), decay=0.25, rated=False),
        local(momentum("decoupled-decay-after 0.25"), decay=0.25, late=True),
        local(momentum(LOOK), look=(3, 0.75)),
        local(momentum(DECAY, LOOK), decay=0.25, look=(3, 0.75)),
        local(momentum("lookahead 12 0.5"), look=(12, 0.5)),
    ],
)
def test_a_solver_with_the_steps_that_it_claims_conforms(subject: Any) -> None:
    result = judged(subject)
    assert result.verdict == "conforms", result.first_deviation
    assert "steps " in result.declared


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (local(momentum(DECAY)), "no decoupled-decay 0.25 at a step"),
        (local(momentum(DECAY), coupled), "decay 0.25 is added to the gradient (coupled), not decoupled-decay 0.25"),
        (
            local(momentum(gradients=("decay 0.25",)), decay=0.25),
            "decoupled-decay 0.25 moves the model, not decay 0.25 its gradient",
        ),
        (
            local(momentum(DECAY), decay=0.25, rated=False),
            "decoupled-decay-alone 0.25 at a step, not decoupled-decay 0.25",
        ),
        (
            local(momentum(DECAY), decay=0.25, late=True),
            "decoupled-decay-after 0.25 at a step, not decoupled-decay 0.25",
        ),
        (local(momentum(DECAY), decay=0.125), "decoupled-decay 0.125 at a step, not decoupled-decay 0.25"),
        (
            local(momentum(DECAY), decay=0.25, flat=False),
            "decoupled-decay 0.25 leaves out blocks with fewer than two axes",
        ),
        (local(momentum(LOOK), look=(3, 0.75), fresh=True), "u begins again at each synchronisation of lookahead"),
        (local(momentum(LOOK)), "no lookahead 3 0.75 at a step"),
        (local(momentum(LOOK), look=(4, 0.75)), "lookahead 4 0.75 at a step, not lookahead 3 0.75"),
        (local(momentum(LOOK), look=(3, 0.25)), "lookahead 3 0.25 at a step, not lookahead 3 0.75"),
        (
            local(momentum(LOOK), look=(3, 0.75), kept=True),
            "the slow model of lookahead is kept from round to round, not set to the round's first model",
        ),
        (local(momentum(DECAY, LOOK), decay=0.25), "no lookahead 3 0.75 at a step"),
        (local(momentum(LOOK), look=(3, 0.75), counts=(-1, 1, True)), "lookahead counts steps from 0"),
        (local(momentum(LOOK), look=(3, 0.75), counts=(0, 1, False)), "lookahead counts all steps, not those of"),
        (
            local(
                momentum("lookahead 4 0.75", gradients=("accumulate-batches 2",)), look=(4, 0.75), counts=(0, 2, True)
            ),
            "lookahead counts micro-batches, not steps",
        ),
    ],
)
def test_another_change_of_the_model_gets_a_name(subject: Any, words: str) -> None:
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


class Looped(Clients):
    """FedAvg, FedProx or FedNova at level round by hand."""

    def round(self, S: list[int], T: list[int]) -> dict[str, Any]:
        h, x, share = self.h, self.x, self.shares(S)
        each = [looped(h, x, lambda k, y, i=i: self.g(i, y), tau) for i, tau in zip(S, T, strict=True)]  # type: ignore[misc]
        delta = np.stack(each) - x
        if "eta" in h:
            self.x = x + h["eta"] * (share @ delta)
            return {}
        a = np.array([entries(h, tau) for tau in T])
        self.x = x + share @ a * (share / a @ delta)
        return {"tau_eff": share @ a}


def rounds(algorithm: str, steps: tuple[str, ...] = (DECAY, "lookahead 2 0.75"), **options: str) -> Any:
    shown = ("tau_eff",) if algorithm == "fednova" else ()
    claim = Claim(algorithm, "round", options=options, intermediates=shown, steps=steps)
    return written(claim, Looped)


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("subject", "unseen"),
    [
        (rounds("fedavg", weights="examples"), []),
        (rounds("fedprox", weights="examples"), []),
        (rounds("fednova", weights="examples", solver="momentum"), ["fednova.a", "fednova.a_momentum"]),
        (rounds("fednova", weights="examples", solver="momentum-proximal-inside"), ["fednova.a", "fednova.a_inside"]),
    ],
)
def test_the_clients_of_a_round_have_the_steps_too(subject: Any, unseen: list[str]) -> None:
    """FedNova's a_i is then that of no equation on the page, which stays uncompared."""
    result = judged(subject)
    assert result.verdict == ("conforms in part" if unseen else "conforms"), result.first_deviation
    assert [one.equation for one in result.unseen] == unseen


class Counting(Clients):
    """FedAvg with lookahead 2 0.75 at level round, whose optimiser objects live longer than a round of a client."""

    def __init__(self, case: Case, of_client: bool, of_round: bool, by_block: bool = False) -> None:
        super().__init__(case)
        self.of_client, self.of_round, self.counts = of_client, of_round, dict[int, int]()
        sizes = [a.size for a in case.x0.values()] if by_block else [self.x.size]
        self.blocks = np.split(np.arange(self.x.size), np.cumsum(sizes)[:-1])

    def round(self, S: list[int], T: list[int]) -> None:
        counts = self.counts = {} if self.of_round else self.counts
        ends = []
        for i, tau in zip(S, T, strict=True):
            y, slow, at = self.x, self.x.copy(), i if self.of_client else -1
            for _ in range(tau):
                y = y - self.h["eta_l"] * self.g(i, y)
                for block in self.blocks:
                    counts[at] = counts.get(at, 0) + 1
                    if counts[at] % 2 == 0:
                        y[block] = slow[block] = 0.25 * slow[block] + 0.75 * y[block]
            ends.append(y)
        self.x = self.x + self.h["eta"] * (self.shares(S) @ np.stack(ends) - self.x)


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
    claim = Claim("fedavg", "round", steps=("lookahead 2 0.75",))
    said = named(written(claim, lambda case: Counting(case, *life)))
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
    said = named(rounds(algorithm, ("lookahead 2 0.75",), weights="examples", **options))
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
