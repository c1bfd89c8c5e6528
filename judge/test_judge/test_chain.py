"""Chains of gradients: torch's functions as the second route, and mistakes that get names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.by_hand import Clients
from test_judge.diagnosing import deviates, named, written
from test_judge.test_schedules import judged
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from fedspec.arith import Array
from fedspec.chain import LINKS, applied, chain
from fedspec.contract import Begin, Blocks, Case, Offer
from fedspec.errors import ContractError
from fedspec_suite.measure.bench import reference
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import check_offer, find, setting_of

BLOCKS = (slice(0, 2), slice(2, 5))
LENGTHS = [0.25, 1.0, 40.0]


def by_torch(link: str, c: float, g: Array, x: Array) -> Array:
    """A link's gradient, by the function of torch that its page names."""
    parts = [torch.nn.Parameter(torch.tensor(x[b])) for b in BLOCKS]
    for p, b in zip(parts, BLOCKS, strict=True):
        p.grad = torch.tensor(g[b])
    if link == "decay":
        before = [p.detach().clone() for p in parts]
        torch.optim.SGD(parts, lr=1, weight_decay=c).step()
        return np.concatenate([(b - p.detach()).numpy() for b, p in zip(before, parts, strict=True)])
    if link == "scale-norm":
        return c * torch.nn.functional.normalize(torch.tensor(g), dim=0).numpy()
    if link == "scale-norm-eps":
        # A bound below any length is always reached.
        clip_grad_norm_(parts, 1e-3)
        return c * 1e3 * np.concatenate([p.grad.numpy() for p in parts])  # type: ignore[union-attr]
    if link == "clip-value":
        clip_grad_value_(parts, c)
    # Torch's 1e-6 is hidden by a large scale.
    scale = 1.0 if link.endswith("-eps") else 2.0**60
    for p in parts:
        p.grad = p.grad * scale  # type: ignore[operator]
    for some in [[p] for p in parts] if "block" in link else [parts] if "norm" in link else []:
        clip_grad_norm_(some, c * scale)
    return np.concatenate([p.grad.numpy() for p in parts]) / scale  # type: ignore[union-attr]


@pytest.mark.parametrize("c", LENGTHS)
@pytest.mark.parametrize("link", LINKS)
def test_a_link_is_the_function_that_its_page_names(link: str, c: float) -> None:
    rng = np.random.default_rng(3)
    g, x = 3 * rng.standard_normal((2, 5))
    (word,) = chain([f"{link} {c}"])
    assert applied(word, g, x, BLOCKS) == pytest.approx(by_torch(link, c, g, x), rel=1e-12)


Step = Callable[[list[torch.nn.Parameter], torch.optim.Optimizer], None]


def local(gradients: tuple[str, ...], clip: Step, decay: float = 0.0) -> Any:
    """Momentum at level client by torch.optim.SGD; ``clip`` is called before its step."""
    return written(Offer("momentum", "client", gradients=gradients), lambda case: Steps(case, clip, decay))


class Steps:
    def __init__(self, case: Case, clip: Step, decay: float) -> None:
        self.case, self.clip, self.decay = case, clip, decay
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        self.parts = {n: torch.nn.Parameter(torch.tensor(a)) for n, a in x.items()}
        h = self.case.hyper
        self.optimiser = torch.optim.SGD(self.parts.values(), lr=h["eta_l"], momentum=h["rho"], weight_decay=self.decay)

    def step(self, event: Any) -> dict[str, Any]:
        if isinstance(event, Begin):
            self.begin(event.x)
        else:
            self.graded(event)
            self.clip([*self.parts.values()], self.optimiser)
            self.optimiser.step()
        return {"x": {n: p.detach().numpy().copy() for n, p in self.parts.items()}}

    def graded(self, event: Any) -> None:
        for name, g in event.g.items():
            self.parts[name].grad = torch.tensor(g)


def at_norm(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    clip_grad_norm_(parts, 0.75)


def at_value(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    clip_grad_value_(parts, 0.75)


def by_block(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    for p in parts:
        clip_grad_norm_([p], 0.75)


def by_share(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    for p in parts:
        clip_grad_norm_([p], 0.75 / len(parts) ** 0.5)


def nothing(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    pass


def at_length(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    """The clip without its minimum."""
    length = torch.sqrt(sum((p.grad**2).sum() for p in parts))  # type: ignore[operator,arg-type]
    for p in parts:
        p.grad *= 0.75 / (length + 1e-6)  # type: ignore[operator]


def after_decay(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    """Decay added by hand, as older codes do, then the clip."""
    for p in parts:
        p.grad += 0.5 * p.detach()  # type: ignore[operator]
    clip_grad_norm_(parts, 0.75)


CLIPPED, BOTH = ("clip-norm-eps 0.75",), ("clip-norm-eps 0.75", "decay 0.5")


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "subject", [local(CLIPPED, at_norm), local(BOTH, at_norm, 0.5), local(("clip-value 0.75",), at_value)]
)
def test_a_solver_with_the_chain_that_it_claims_conforms(subject: Any) -> None:
    result = judged(subject)
    assert result.verdict == "conforms", result.first_deviation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "words"),
    [
        (local(CLIPPED, nothing), "no clip-norm-eps 0.75 of gradients"),
        (local(CLIPPED, by_block), "clip-block-norm-eps 0.75 of gradients, not clip-norm-eps 0.75"),
        (local(CLIPPED, by_share), "each block is clipped to 0.75 / sqrt(number of blocks), not all together to 0.75"),
        (local(CLIPPED, at_length), "scale-norm-eps 0.75 of gradients, not clip-norm-eps 0.75"),
        (local(CLIPPED, at_value), "clip-value 0.75 of gradients, not clip-norm-eps 0.75"),
        (local(("clip-norm 0.75",), at_norm), "clip-norm-eps 0.75 of gradients, not clip-norm 0.75"),
        (local(BOTH, after_decay), "clip-norm-eps 0.75 comes after decay 0.5, not before it"),
        (local(BOTH, at_norm), "no decay 0.5 of gradients"),
        (local(BOTH, at_norm, 0.125), "decay 0.125 of gradients, not decay 0.5"),
        (local(("clip-norm-eps 0.5",), at_norm), "clip-norm-eps 0.75 of gradients, not clip-norm-eps 0.5"),
        (local((), at_norm), "every gradient is clipped to length 0.75, as clip_grad_norm_ does (1e-06 more)"),
        (local((), by_block), "every gradient is clipped to length 0.75, as clip_grad_norm_ of each block"),
    ],
)
def test_another_chain_gets_a_name(subject: Any, words: str) -> None:
    said = named(subject)
    assert words in said, said


def dampened(parts: list[torch.nn.Parameter], optimiser: Any) -> None:
    """The claimed clip, then a factor that nobody listed."""
    at_norm(parts, optimiser)
    for p in parts:
        p.grad *= 1 - optimiser.param_groups[0]["momentum"] ** 2  # type: ignore[operator]


@pytest.mark.slow
def test_an_equation_is_written_out_behind_the_claimed_chain() -> None:
    result = judged(local(CLIPPED, dampened))
    assert "yours: u = rho (u - g rho) + g, wanted: u = rho u + g" in result.nearest, result.nearest


class Clipping(Clients):
    """FedAvg at level round, whose clients clip by value and whose changes take a route; by hand."""

    def __init__(self, case: Case, c: float, route: Callable[[Array], Array]) -> None:
        super().__init__(case)
        self.c, self.route = c, route

    def g(self, i: int, y: Array) -> Array:
        return np.asarray(np.clip(super().g(i, y), -self.c, self.c))

    def round(self, S: list[int], T: list[int]) -> None:
        changes = [(self.local(i, tau) - self.x).astype(self.dtype) for i, tau in zip(S, T, strict=True)]
        self.x = self.x + self.h["eta"] * (self.shares(S) @ np.stack([*map(self.route, changes)]))


def rounds(
    c: float,
    gradients: tuple[str, ...] = ("clip-value 0.25",),
    messages: tuple[str, ...] = (),
    route: Callable[[Array], Array] = np.asarray,
    method: type[Clipping] = Clipping,
) -> Any:
    offer = Offer("fedavg", "round", options={"weights": "examples"}, gradients=gradients, messages=messages)
    return written(offer, lambda case: method(case, c, route))


def test_the_clients_of_a_round_have_the_chain_too() -> None:
    result = judged(rounds(0.25))
    assert result.verdict == "conforms", (result.first_deviation, result.nearest)
    assert deviates(rounds(0.5))


def test_a_chain_leaves_the_losses_as_they_are() -> None:
    """The server of q-FedAvg reads them."""
    setting = setting_of(Offer("q-fedavg", "round", "li-2020-code", gradients=("clip-value 0.25",)))
    s = draw_cases(scenarios(setting), 1, seed=0)[0]
    assert s.case.gradients == ("clip-value 0.25",) and len(reference(s)) == len(s.events)


@pytest.mark.parametrize("said", ["clip 1", "clip-norm", "clip-norm 0", "clip-norm -1", "decay nan", "decay 1 2"])
def test_what_is_no_link_is_refused(said: str) -> None:
    with pytest.raises(ContractError, match="positive number"):
        chain([said])


def test_a_server_sees_no_gradient() -> None:
    with pytest.raises(ContractError, match="sees no gradient"):
        check_offer(Offer("fedavg", "server", gradients=CLIPPED), find("fedavg"))
