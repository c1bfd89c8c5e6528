"""The loop of simulate before the judge: it conforms, and what goes wrong in it alone is found."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from fedspec.algorithms.local import local_sgd
from fedspec.contract import Offer
from fedspec_suite.judge import runner
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.verdict import Status
from fedspec_torch.forms.table import FAST
from fedspec_torch.judged.subject import SUBJECT
from fedspec_torch.plan import Oracle
from fedspec_torch.ranks.rows import Rows

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

OFFERS = {(o.algorithm, o.variant): o for o in SUBJECT.info.offers if o.variant}
SHARDED = {i: replace(o, variant="engine in two shards") for (i, v), o in OFFERS.items() if v == "engine looped singly"}

SOME = [
    ("fedavg", "engine looped singly"),
    ("fedada2", "engine stacked"),
    ("cc-fedadam", "engine stacked"),
    ("dsgd", "engine looped singly"),
]


def broken(offer: Offer, law: str = "*", cases: int = 2) -> set[str]:
    """The laws that do not pass."""
    obligations = judge_offer(Inside(SUBJECT), offer, cases=cases, law=law)
    assert obligations
    return {o.law for o in obligations if o.status not in {Status.PASS, Status.SKIP}}


@pytest.mark.long
@pytest.mark.parametrize(
    ("algorithm", "variant"), [*SOME[:1], *(pytest.param(*s, marks=pytest.mark.long) for s in SOME[1:])]
)
def test_the_engine_conforms(algorithm: str, variant: str) -> None:
    assert not broken(OFFERS[algorithm, variant])


def shaken(offer: Offer, **more: Any) -> set[str]:
    """The laws that shards do not obey, but for the one about clients that only shift where shards end."""
    return broken(offer, **more) - {"bystander"}


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["scaffold", "cafga", "cc-fedadam"])
def test_shards_conform(algorithm: str) -> None:
    assert not shaken(SHARDED[algorithm])


@pytest.mark.long
@pytest.mark.parametrize("cloned", [True, False])
def test_a_block_of_one_that_trains_the_servers_model_is_found(cloned: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Known trap: one row that is expanded is contiguous already, so that it is no copy."""

    def in_place(h: Any, x: Tensor, gradient: Oracle, tau: int | tuple[int]) -> Tensor:
        x_i = x[:1].expand(len(x), -1).contiguous()
        x_i = x_i.clone() if cloned else x_i
        for k in range(tau if isinstance(tau, int) else tau[0]):
            x_i.sub_(gradient(k, x_i), alpha=h.eta_l)
        return x_i

    monkeypatch.setitem(FAST, local_sgd, in_place)
    found = broken(OFFERS["fedavg", "engine looped singly"], law="follows-x", cases=6)
    assert found == (set() if cloned else {"follows-x"})


def test_a_row_that_is_written_into_a_copy_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen in this engine: a single client's row of a stack in shards kept its old value."""
    written = Rows.__torch_dispatch__.__func__  # type: ignore[attr-defined]

    def lost(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.overloadpacket is torch.ops.aten.index_put_ and len(args[1][0]) == 1:
            return args[0]
        return written(cls, func, types, args, kwargs)

    monkeypatch.setattr(Rows, "__torch_dispatch__", classmethod(lost))
    monkeypatch.setattr(runner, "SHRINKING", 0)
    assert "follows-x" in broken(SHARDED["cafga"], law="follows-x", cases=6)
