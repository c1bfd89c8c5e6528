"""Driver of other projects' LoRA servers: converts a round's factors to files, state dictionaries and torch modules.

A round's clients are numbered from 0. Keys are those of PEFT: ``q.lora_A.default.weight`` and its like.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.append(str(Path(__file__).parents[1] / "diloco"))

from fedspec.mixing.adapters import Adapter
from fedspec_suite.lora.rounds import Round

UP, DOWN = "q.lora_B.weight", "q.lora_A.weight"


def tensor(M: Any) -> torch.Tensor:
    """Convert an array to a float32 tensor, which holds the sent numbers exactly, as they have few digits."""
    return torch.tensor(np.asarray(M, dtype=np.float32))


def factors(a: Adapter) -> dict[str, torch.Tensor]:
    """Return the factors of a client's adapter, by PEFT's names."""
    return {DOWN: tensor(a.A), UP: tensor(a.B)}


def beside(W: Any, made: Mapping[str, torch.Tensor]) -> tuple[Any, Any, Any]:
    """Return W, B and A from a weight and from factors under PEFT's names."""
    return W, made[UP].numpy(), made[DOWN].numpy()


@contextmanager
def files(s: Round) -> Iterator[str]:
    """Context with a folder that contains each client's factors, in Shepherd's layout."""
    with tempfile.TemporaryDirectory() as folder:
        for i, a in enumerate(s.sent):
            place = Path(folder) / "0" / f"local_output_{i}"
            place.mkdir(parents=True)
            torch.save(factors(a), place / "pytorch_model.bin")
        yield folder


class Base(torch.nn.Module):
    """Module with a frozen weight: [outputs, inputs] as ``torch.nn.Linear``, transposed (``Conv1D``) if ``turned``."""

    def __init__(self, W: Any, turned: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(tensor(W.T if turned else W), requires_grad=False)


class Adapted(torch.nn.Module):
    """Module of a layer with a LoRA adapter, whose parts have PEFT's names."""

    def __init__(self, s: Round, turned: bool) -> None:
        super().__init__()
        self.base_layer = Base(s.layer.W, turned)
        self.lora_A = torch.nn.ModuleDict({"default": Base(s.layer.A, False)})
        self.lora_B = torch.nn.ModuleDict({"default": Base(s.layer.B, False)})


def model(s: Round, turned: bool = False) -> torch.nn.Module:
    """Return a model with that one layer."""
    return torch.nn.ModuleDict({"q": Adapted(s, turned)})


def states(s: Round, turned: bool = False) -> list[dict[str, torch.Tensor]]:
    """Return the state dictionaries that the clients send: the whole model, each with its own factors."""
    same = model(s, turned).state_dict()
    sent = [{"q.lora_A.default.weight": tensor(a.A), "q.lora_B.default.weight": tensor(a.B)} for a in s.sent]
    return [{**same, **factors} for factors in sent]


def shown(made: torch.nn.Module, turned: bool = False) -> tuple[Any, Any, Any]:
    """Return W, B and A of the model."""
    state = made.state_dict()
    W = state["q.base_layer.weight"].numpy()
    B, A = (state[f"q.lora_{n}.default.weight"].numpy() for n in "BA")
    return (W.T if turned else W), B, A
