"""Precision, clipping, decay, checkpointed and rewritten layers: trained as a loop of torch does, or refused by name.

The loop is written out here, rules of the servers included; it asks nothing of the mirror or of the specification.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

import pytest
import torch
from test_mirror.kinds import Around
from test_mirror.test_kinds import EVERY_WAY, SAID, Events
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, prune
from torch.utils.checkpoint import checkpoint

from fedspec.errors import FedspecError
from fedspec_torch import Federation, cohorts, simulate

pytestmark = [
    pytest.mark.table(2),
    pytest.mark.filterwarnings("ignore:.*weight_norm.*deprecated", "ignore:None of the inputs have requires_grad"),
]

SIZES, STEPS, ROUNDS, BATCH = (6, 8, 12), (1, 3, 2), 3, 2
"""Examples and local steps of the clients, and rounds; clients take their examples in order, two at a time."""

NUMBERS: dict[str, dict[str, Any]] = {
    "fedavg": {"eta_l": 0.1},
    "fednova": {"eta_l": 0.1, "solver": "momentum", "rho": 0.5},
    "fedadam": {"eta_l": 0.1, "eta": 0.1, "beta1": 0.5, "beta2": 0.75, "tau": 0.05, "v0": 0.25},
}
BF16, FP16 = (partial(torch.autocast, "cpu", dtype) for dtype in (torch.bfloat16, torch.float16))
LAYERED = frozenset(("compiled", "layered", "stacked", "vmapped", "looped"))
MAPPED = frozenset(("stacked", "vmapped", "looped"))
ALONE = frozenset(("looped",))


@dataclass(frozen=True)
class Kind:
    """A module and how it is trained.

    Attributes:
        make: makes the module.
        ways: the ways that train it; all others refuse it.
        given: options of the federation.
        around: context manager that the loop enters around forward and loss.
        dtype: the type of inputs.
        apart: largest distance to the loop, over the distance that the model moves.
        stacked: ``apart`` for several clients at once, whose products of matrices may round otherwise.
    """

    make: Callable[[], nn.Module]
    ways: frozenset[str] = ALONE
    given: dict[str, Any] = field(default_factory=dict)
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    dtype: torch.dtype = torch.float32
    apart: float = 1e-5
    stacked: float = 1e-5


def mlp() -> nn.Sequential:
    """Two layers."""
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3))


def changed(change: Callable[[Any], Any], which: int | None = 0) -> Callable[[], nn.Module]:
    """Two layers, and a function of the first layer, or of the whole."""

    def make() -> nn.Module:
        module = mlp()
        change(module if which is None else module[which])
        return module

    return make


def around(call: Callable[[Any, Tensor], Tensor]) -> Callable[[], nn.Module]:
    """Two layers within a function."""
    return lambda: Around(call, part=mlp())


def recomputed(again: bool) -> Callable[[], nn.Module]:
    """First layers whose activations are computed a second time, from inputs without a gradient."""
    return around(lambda self, x: self.part[2](checkpoint(self.part[:2], x, use_reentrant=again)))


def cast(context: Callable[[], AbstractContextManager[Any]]) -> Callable[[], nn.Module]:
    """Autocast inside forward."""

    def call(self: Any, x: Tensor) -> Tensor:
        with context():
            return self.part(x).float()  # type: ignore[no-any-return]

    return around(call)


def compiled_part() -> nn.Module:
    """A compiled first layer."""
    module = mlp()
    return nn.Sequential(torch.compile(module[0], backend="eager"), *module[1:])


def fixed(change: Callable[[Any], Any]) -> Callable[[], nn.Module]:
    """A changed first layer, in evaluation mode."""
    return lambda: changed(change)().eval()


TRAINED: dict[str, Kind] = {
    "float32": Kind(mlp, LAYERED),
    "float64": Kind(lambda: mlp().double(), LAYERED, dtype=torch.float64, apart=1e-12, stacked=1e-12),
    "bf16": Kind(mlp, MAPPED, {"precision": "bf16"}, BF16, apart=1e-3, stacked=2e-2),
    "autocast in forward, bf16": Kind(cast(BF16), apart=1e-3),
    "autocast in forward, fp16": Kind(cast(FP16), apart=1e-4),
    "accumulation": Kind(mlp, LAYERED, {"accumulate": 3}),
    "clipped by norm": Kind(mlp, LAYERED, {"clip": 0.3}),
    "clipped by value": Kind(mlp, LAYERED, {"clip_value": 0.02}),
    "decayed": Kind(mlp, LAYERED, {"weight_decay": 0.2}),
    "accumulation, clipped by norm, decayed": Kind(mlp, LAYERED, {"accumulate": 2, "clip": 0.3, "weight_decay": 0.2}),
    "accumulation, clipped by value, decayed": Kind(
        mlp, LAYERED, {"accumulate": 2, "clip_value": 0.02, "weight_decay": 0.2}
    ),
    "accumulation, clipped by value, in bf16": Kind(
        mlp, MAPPED, {"accumulate": 2, "clip_value": 0.02, "precision": "bf16"}, BF16, apart=1e-3, stacked=2e-2
    ),
    "checkpoint": Kind(recomputed(False)),
    "checkpoint, reentrant": Kind(recomputed(True)),
    "compiled in place": Kind(changed(lambda module: module.compile(backend="eager"), None), LAYERED),
    "a compiled layer": Kind(compiled_part, MAPPED),
    "weight_norm by a hook": Kind(changed(nn.utils.weight_norm)),
    "weight_norm": Kind(changed(parametrizations.weight_norm), MAPPED),
    "prune": Kind(changed(lambda layer: prune.l1_unstructured(layer, "weight", 0.4))),
    "spectral_norm by a hook, fixed": Kind(fixed(nn.utils.spectral_norm)),
    "spectral_norm, fixed": Kind(fixed(parametrizations.spectral_norm), MAPPED),
}  # fmt: skip


def data(dtype: torch.dtype) -> list[tuple[Tensor, Tensor]]:
    """Data of three clients."""
    torch.manual_seed(5)
    return [(torch.randn(n, 5).to(dtype), torch.randint(3, (n,))) for n in SIZES]


def made(kind: Kind) -> nn.Module:
    """The module, the same at every call."""
    torch.manual_seed(3)
    return kind.make()


def flat(module: nn.Module) -> Tensor:
    """Parameters as one vector."""
    return nn.utils.parameters_to_vector(module.parameters()).detach().clone()


def put(x: Tensor, module: nn.Module) -> None:
    """Write parameters."""
    nn.utils.vector_to_parameters(x.clone(), module.parameters())


def descended(kind: Kind, module: nn.Module, x: Tensor, i: int, make: Callable[..., torch.optim.Optimizer]) -> Tensor:
    """A client's model after its steps of one of torch's optimisers, which decays by itself."""
    put(x, module)
    (inputs, targets), micro = data(kind.dtype)[i], kind.given.get("accumulate", 1)
    optimiser = make(module.parameters(), weight_decay=kind.given.get("weight_decay", 0.0))
    for k in range(STEPS[i]):
        optimiser.zero_grad()
        for j in range(micro):
            rows = [(BATCH * (micro * k + j) + e) % SIZES[i] for e in range(BATCH)]
            with kind.around():
                loss = F.cross_entropy(module(inputs[rows]), targets[rows])
            (loss / micro).backward()  # type: ignore[no-untyped-call]
        if "clip" in kind.given:
            nn.utils.clip_grad_norm_(module.parameters(), kind.given["clip"])
        if "clip_value" in kind.given:
            nn.utils.clip_grad_value_(module.parameters(), kind.given["clip_value"])
        optimiser.step()
    return flat(module)


def looped(kind: Kind, algorithm: str) -> tuple[Tensor, Tensor]:
    """First and last model of the loop."""
    module, shares = made(kind), [n / sum(SIZES) for n in SIZES]
    begun = x = flat(module)
    rho = NUMBERS[algorithm].get("rho", 0.0)
    sgd = partial(torch.optim.SGD, lr=0.1, momentum=rho)
    m, v = torch.zeros_like(x), torch.full_like(x, NUMBERS["fedadam"]["v0"])
    for _ in range(ROUNDS):
        moved = [descended(kind, module, x, i, sgd) - x for i in range(3)]
        if algorithm == "fedavg":
            for p, change in zip(shares, moved, strict=True):
                x = x + p * change
        elif algorithm == "fednova":
            # A gradient is felt by as many later steps as there are, each time by rho of the time before.
            felt = [sum((1 - rho**j) / (1 - rho) for j in range(1, tau + 1)) for tau in STEPS]
            mean_steps = sum(p * norm for p, norm in zip(shares, felt, strict=True))
            for p, norm, change in zip(shares, felt, moved, strict=True):
                x = x + mean_steps * p * change / norm
        else:
            change = (moved[0] + moved[1] + moved[2]) / 3
            m, v = 0.5 * m + 0.5 * change, 0.75 * v + 0.25 * change * change
            x = x + 0.1 * m / (v.sqrt() + 0.05)
    return begun, x


@cache
def wanted(name: str, algorithm: str) -> tuple[Tensor, Tensor]:
    """First and last model of the loop, of a trained kind."""
    return looped(TRAINED[name], algorithm)


def run_of(kind: Kind, algorithm: str, way: str | None, module: nn.Module | None = None, **more: Any) -> Any:
    """A run, of which no round is done."""
    given: dict[str, Any] = {"batch_size": BATCH, "shuffled": False, "way": way, **kind.given}
    fed = Federation(module or made(kind), F.cross_entropy, data(kind.dtype), **given)
    return simulate(algorithm, fed, plan=Events(STEPS), rounds=ROUNDS, **NUMBERS.get(algorithm, {}), **more)


def apart(run: Any, ends: tuple[Tensor, Tensor]) -> float:
    """Distance to the loop's model, over the distance that the loop's model moved."""
    begun, want = ends
    assert run.x.dtype == want.dtype
    return float((run.x - want).norm() / (want - begun).norm())


def check_copy(kind: Kind, run: Any) -> None:
    """The module that a run returns has the run's model, in what hooks compute from parameters too."""
    copy, own, (inputs, _) = run.module(), made(kind), data(kind.dtype)[0]
    put(run.x, own)
    weights = [part.weight.clone() for part in copy.modules() if isinstance(part, nn.Linear)]
    assert torch.equal(flat(copy), run.x)
    torch.testing.assert_close(copy(inputs), own(inputs))
    torch.testing.assert_close(weights, [part.weight for part in own.modules() if isinstance(part, nn.Linear)])


@pytest.mark.table(5)
@pytest.mark.parametrize("algorithm", NUMBERS)
@pytest.mark.parametrize("name", TRAINED)
def test_every_way_that_takes_a_kind_trains_it_as_the_loop_does(name: str, algorithm: str) -> None:
    kind, taken = TRAINED[name], set[str]()
    for way in (None, *EVERY_WAY):
        run = run_of(kind, algorithm, way)
        try:
            list(run)
        except FedspecError as error:
            assert way and any(reason in str(error) for reason in SAID), error
            continue
        off = apart(run, wanted(name, algorithm))
        assert off < (kind.apart if way == "looped" else max(kind.apart, kind.stacked)), f"{way}: {off:.2g}"
        check_copy(kind, run)
        taken |= {way} if way else set()
    # Options of gradients leave the kernel out, and its name is then that of the layers.
    assert taken - {"fused"} == kind.ways


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("bf16", 1e-3),
        ("autocast in forward, fp16", 1e-4),
        *((name, 1e-2) for name in ("accumulation", "clipped by norm", "clipped by value", "decayed")),
        ("checkpoint, reentrant", 1e-2),
        *((name, 1e-2) for name in ("weight_norm", "prune", "spectral_norm, fixed")),
    ],
)
def test_a_kind_moves_the_loop_itself_by_more_than_the_bound(name: str, least: float) -> None:
    (_, exact), (begun, x) = wanted("float32", "fedavg"), wanted(name, "fedavg")
    assert x.shape != exact.shape or float((x - exact).norm() / (x - begun).norm()) > least


@pytest.mark.parametrize("given", [{}, {"clip": 0.3}], ids=["", "clipped"])
def test_a_decay_beside_the_step_is_averaging_of_torchs_adamw(given: dict[str, Any]) -> None:
    """DiLoCo without outer momentum, its clients' state made anew."""
    kind = Kind(lambda: mlp().double(), given=given, dtype=torch.float64)
    numbers = {"eta_l": 0.1, "beta1": 0.9, "beta2": 0.95, "eps": 1e-8, "wd": 0.2, "eta": 1.0, "beta": 0.0}
    run, module = run_of(kind, "diloco", None, reading="reset", **numbers), made(kind)

    def adamw(parameters: Any, weight_decay: float) -> torch.optim.Optimizer:
        return torch.optim.AdamW(parameters, lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.2)

    want = flat(module)
    for _ in run:
        want = torch.stack([descended(kind, module, want, i, adamw) for i in range(3)]).mean(0)
        torch.testing.assert_close(run.x, want, rtol=1e-5, atol=1e-7)


def test_a_gradient_of_zero_is_not_divided_by_its_length() -> None:
    flat = Around(lambda self, x: (self.w**2).sum() + 0 * x.sum(1), w=nn.Parameter(torch.zeros(2)))
    fed = Federation(flat, lambda out, _: out.mean(), [(torch.ones(2, 2), torch.ones(2))], clip=0.1)
    run = simulate("fedavg", fed, plan=cohorts(1, steps=2), rounds=1, eta_l=0.3, eta=1.0)
    run.step()
    assert torch.equal(run.x, torch.zeros(2))


@dataclass(frozen=True)
class Refused:
    """A kind that is refused, and its way out.

    Attributes:
        kind: the kind; ``around`` is entered around the run.
        words: the message.
        follow: does to the refused module as the message says.
        then: the kind that trains.
    """

    kind: Kind
    words: str
    follow: Callable[[Any], nn.Module]
    then: Kind


def same(module: nn.Module) -> nn.Module:
    """The module."""
    return module


def narrow(dtype: torch.dtype) -> Refused:
    """Parameters of 16 bits."""
    words = rf"parameters of {dtype}, .*give model\.float\(\), and Federation\(\.\.\., precision='bf16'\)"
    then = Kind(lambda: mlp().to(dtype).float(), given={"precision": "bf16"}, around=BF16, apart=1e-3)
    return Refused(Kind(lambda: mlp().to(dtype), dtype=dtype), words, nn.Module.float, then)


def spectral(norm: Callable[[Any], Any], buffer: str) -> Refused:
    """Spectral norms, which iterate at each call."""
    words = rf"keeps something between calls: its buffer {buffer} changes .*call model\.eval\(\)"
    return Refused(Kind(changed(norm)), words, nn.Module.eval, Kind(fixed(norm)))


IN_BF16 = Kind(mlp, given={"precision": "bf16"}, around=BF16, apart=1e-3)
NO_SCALER = r"'fp16', in which small gradients become 0 .*give bf16, or enter torch\.autocast.* in forward"
AROUND = r"torch\.autocast is on around the run, .*enter it in forward, or give Federation\(\.\.\., precision='bf16'\)"

REFUSED: dict[str, Refused] = {
    "parameters in bf16": narrow(torch.bfloat16),
    "parameters in fp16": narrow(torch.float16),
    "precision fp16": Refused(Kind(mlp, given={"precision": "fp16"}), NO_SCALER, same, IN_BF16),
    "precision fp16, then in forward": Refused(
        Kind(cast(FP16), given={"precision": "fp16"}), NO_SCALER, same, Kind(cast(FP16), apart=1e-4)
    ),
    "autocast around": Refused(Kind(mlp, around=BF16), AROUND, same, IN_BF16),
    "autocast around, then in forward": Refused(
        Kind(cast(FP16), around=FP16), AROUND, same, Kind(cast(FP16), apart=1e-4)
    ),
    "torch.compile": Refused(
        Kind(lambda: torch.compile(mlp(), backend="eager")),
        r"the result of torch\.compile, .*give the module itself",
        lambda module: module._orig_mod,
        Kind(mlp),
    ),
    "spectral_norm by a hook": spectral(nn.utils.spectral_norm, r"0\.weight_u"),
    "spectral_norm": spectral(parametrizations.spectral_norm, r"0\.parametrizations\.weight\.0\._u"),
}


@pytest.mark.parametrize("algorithm", NUMBERS)
@pytest.mark.parametrize("name", REFUSED)
def test_the_way_out_of_a_refusal_trains_the_refused_module_as_the_loop_does(name: str, algorithm: str) -> None:
    refused = REFUSED[name]
    module = made(refused.kind)
    with refused.kind.around(), pytest.raises(FedspecError, match=refused.words):
        list(run_of(refused.kind, algorithm, None, module))
    run = run_of(refused.then, algorithm, "looped", refused.follow(module))
    list(run)
    assert apart(run, looped(refused.then, algorithm)) < refused.then.apart
