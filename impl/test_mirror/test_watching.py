"""Indices outside a table, padding rows and questions of requires_grad end under vmap as in plain torch, or by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_mirror import support
from test_mirror.kinds import Around
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_torch import Federation, ModuleError, cohorts
from fedspec_torch.refusals import LayersError

pytestmark = pytest.mark.table(10)

Pairs = list[tuple[Tensor, Tensor]]
ROWS, CLIENTS = 10, 20


def ended(module: nn.Module, loss: Any, pairs: Pairs, way: str | None) -> Tensor:
    """Model after three rounds of all clients."""
    federation = Federation(module, loss, pairs, batch_size=4, shuffled=False, way=way)
    return support.ended("fedavg", federation, plan=cohorts(None, steps=2), rounds=3, eta_l=0.3).x  # type: ignore[no-any-return]


def words(wrong: int | None = None, client: int = 13, padded: bool = False) -> Pairs:
    """Words of ten and classes of three; one late word may be another."""
    torch.manual_seed(0)
    pairs = [(torch.randint(1, ROWS, (8, 6)), torch.randint(3, (8,))) for _ in range(CLIENTS)]
    if wrong is not None:
        pairs[client][0][5, 0] = wrong
    if padded:
        pairs[client][0][:, 3:] = 0
    return pairs


def looked_up(look: Callable[[Tensor, Tensor], Tensor]) -> nn.Module:
    """Embeddings by a function of words and table, and a linear layer on them."""
    torch.manual_seed(1)
    parts = {"w": nn.Parameter(torch.randn(ROWS, 4)), "part": nn.Linear(24, 3)}
    return Around(lambda self, x: self.part(look(x, self.w).flatten(1)), **parts).double()


LOOKS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "nn.functional": F.embedding,
    "by name": lambda x, w: F.embedding(weight=w, input=x),
    "torch": lambda x, w: torch.embedding(w, x),
    "aten": lambda x, w: torch.ops.aten.embedding(w, x),
}


@pytest.mark.parametrize("way", [None, "looped", "vmapped", "stacked"])
@pytest.mark.parametrize(("wrong", "client"), [(ROWS, 13), (-1, 13), (ROWS, 0), (-1, 1), (ROWS, 19)])
def test_a_word_that_there_is_not_is_refused_in_every_way_alike(way: str | None, wrong: int, client: int) -> None:
    least, most = min(wrong, 1), max(wrong, ROWS - 1)
    with pytest.raises(ModuleError, match=rf"not take a minibatch of client {client}, .*from {least} to {most} and"):
        ended(looked_up(F.embedding), F.cross_entropy, words(wrong, client), way)


@pytest.mark.parametrize("name", LOOKS)
def test_a_table_may_be_looked_into_by_any_name(name: str) -> None:
    with pytest.raises(ModuleError, match=r"client 13, .*from 1 to 10 .*IndexError"):
        ended(looked_up(LOOKS[name]), F.cross_entropy, words(ROWS), "stacked")
    ends = [ended(looked_up(LOOKS[name]), F.cross_entropy, words(), way) for way in ("looped", "stacked")]
    assert torch.allclose(ends[0], ends[1], rtol=1e-12)


def brier(z: Tensor, t: Tensor) -> Tensor:
    return ((z.softmax(1) - F.one_hot(t, 3)) ** 2).sum(1).mean()


def spread(z: Tensor, t: Tensor) -> Tensor:
    return z.index_fill(1, t, 0.5).square().mean()


@pytest.mark.parametrize("way", [None, "looped", "stacked"])
@pytest.mark.parametrize("loss", [brier, spread])
def test_a_class_that_there_is_not_is_refused_in_every_way_alike(way: str | None, loss: Any) -> None:
    pairs = support.classes((8,) * CLIENTS, 5, seed=0)
    pairs[13][1][5] = 3
    with pytest.raises(ModuleError, match=r"not take a minibatch of client 13, .*from \d to 3"):
        ended(nn.Linear(5, 3).double(), loss, pairs, way)


@pytest.mark.parametrize("row", [0, -10])
def test_a_padding_row_of_a_function_is_not_trained(row: int) -> None:
    """Only client 13 has padding, so that no look sees that torch's backward pass trains the row."""
    made: Any = lambda: looked_up(lambda x, w: F.embedding(x, w, padding_idx=row))  # noqa: E731
    want = ended(made(), F.cross_entropy, words(padded=True), "looped")
    for way in (None, "vmapped"):
        assert torch.allclose(ended(made(), F.cross_entropy, words(padded=True), way), want, rtol=1e-12)
    with pytest.raises(LayersError, match="stacked: it calls an embedding with a padding row"):
        ended(made(), F.cross_entropy, words(), "stacked")


@torch.jit.script
def scripted(x: Tensor, w: Tensor) -> Tensor:
    return torch.embedding(w, x)


@torch.jit.script
def scripted_loss(z: Tensor, t: Tensor) -> Tensor:
    return ((z - F.one_hot(t, 3)) ** 2).mean()


SCRIPTS: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    "module": lambda: (torch.jit.script(nn.Sequential(nn.Embedding(ROWS, 4), nn.Flatten(), nn.Linear(24, 3))), None),
    "function": lambda: (looked_up(scripted), None),
    "loss": lambda: (looked_up(F.embedding), scripted_loss),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_looks_into_a_table_is_looped_over(name: str) -> None:
    module, loss = SCRIPTS[name]()
    for way in ("stacked", "vmapped"):
        with pytest.raises(LayersError, match=f"{way}: a script looks into a table"):
            ended(module.double(), loss or F.cross_entropy, words(), way)


def clipped(self: Any, x: Tensor) -> Tensor:
    """Gradients of an activation are clipped, if it is asked for any."""
    h = self.one(x)
    if h.requires_grad:
        h.register_hook(lambda g: g.clamp(-1, 1))
    return self.two(h)  # type: ignore[no-any-return]


def by_leaf(self: Any, x: Tensor) -> Tensor:
    """Half of what the parameter gives where somebody made it."""
    return self.two(self.one(x)) * (1 if self.one.weight.is_leaf else 0.5)  # type: ignore[no-any-return]


def numbers() -> Pairs:
    """Client 13 has large targets, which no look sees at first."""
    torch.manual_seed(0)
    pairs = [(torch.randn(8, 5).double(), 0.1 * torch.randn(8, 2).double()) for _ in range(CLIENTS)]
    pairs[13] = (pairs[13][0], pairs[13][1] * 300)
    return pairs


@pytest.mark.parametrize(("call", "asked"), [(clipped, r"\(register_hook, requires_grad\)"), (by_leaf, r"\(is_leaf\)")])
def test_who_asks_how_it_is_differentiated_is_not_stacked(call: Any, asked: str) -> None:
    def made() -> nn.Module:
        torch.manual_seed(2)
        return Around(call, one=nn.Linear(5, 6), two=nn.Linear(6, 2)).double()

    want = ended(made(), F.mse_loss, numbers(), "looped")
    assert torch.allclose(ended(made(), F.mse_loss, numbers(), None), want, rtol=1e-10)
    with pytest.raises(LayersError, match=f"stacked: .*asks how it is differentiated {asked}"):
        ended(made(), F.mse_loss, numbers(), "stacked")


def test_layers_of_torch_are_stacked_as_before() -> None:
    """Attention, a transformer's layer and parametrizations ask nothing."""
    encoder = nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
    module = nn.Sequential(nn.Unflatten(1, (3, 4)), encoder, normed, nn.Flatten(), nn.Linear(12, 3)).double()
    ended(module, F.cross_entropy, support.classes((8,) * 3, 12, seed=0), "stacked")


def inner(self: Any, x: Tensor) -> Tensor:
    """A step of its own before it answers, which torch's transforms differentiate."""
    grad = torch.func.grad(lambda w: (x @ w).square().mean())
    return x @ (self.w - 0.1 * grad(self.w))  # type: ignore[no-any-return]


@pytest.mark.parametrize("way", ["stacked", "vmapped"])
def test_what_torch_asks_itself_is_no_question_of_the_module(way: str) -> None:
    ends = []
    for name in ("looped", way):
        torch.manual_seed(3)
        ends.append(ended(Around(inner, w=nn.Parameter(torch.randn(5, 2))).double(), F.mse_loss, numbers(), name))
    assert torch.allclose(ends[0], ends[1], rtol=1e-10)
