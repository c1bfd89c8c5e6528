"""An own row that no client knows is an error by name; of Flower there is no more here than what is called of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from test_mirror.ranked import apart, own

from fedspec.errors import UnknownNameError

RECORDS = ("Array", "ArrayRecord", "ConfigRecord", "Message", "MetricRecord", "RecordDict")


class Fedavg:
    """The parts of Flower's strategy that the round of no reply goes through."""

    def __init__(self, weighted_by_key: str = "num-examples") -> None:
        self.weighted_by_key = weighted_by_key

    def _check_and_log_replies(self, replies: list[Any], is_train: bool) -> tuple[list[Any], list[Any]]:
        return [m for m in replies if not m.has_error()], [m for m in replies if m.has_error()]


@pytest.fixture
def flower(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    names = {
        "flwr": {},
        "flwr.app": dict.fromkeys(RECORDS, dict),
        "flwr.common": {},
        "flwr.common.logger": {"log": lambda *said: None},
        "flwr.serverapp": {},
        "flwr.serverapp.strategy": {"FedAvg": Fedavg},
    }
    for name, held in names.items():
        module = ModuleType(name)
        vars(module).update(held)
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.delitem(sys.modules, "fedspec_use.flower", raising=False)
    yield import_module("fedspec_use.flower")
    sys.modules.pop("fedspec_use.flower", None)


def failed(reason: str) -> Any:
    """The reply that Flower makes of an exception of a client."""
    return SimpleNamespace(has_error=lambda: True, error=SimpleNamespace(reason=reason))


def test_a_round_of_clients_who_do_not_know_the_row_is_an_error(flower: Any, tmp_path: Path) -> None:
    with apart():
        row = own("server", tmp_path)
        strategy = flower.FedspecStrategy(row, eta=0.5, beta=0.5)
        sent = SimpleNamespace(content=SimpleNamespace(config_records={"c": {"fedspec": flower.told(strategy.server)}}))
        assert flower.heard(sent, {}).algorithm is row
    with pytest.raises(UnknownNameError, match=r"'own-server'.*this client knows no algorithm") as client:
        flower.heard(sent, {})
    reason = f"{type(client.value)}:<'{client.value}'>"
    with pytest.raises(UnknownNameError, match=r"no client replied.*'own-server'.*find"):
        strategy.aggregate_train(1, [failed(reason), failed("<class 'OSError'>:<'gone'>")])
    # Another failure may pass, and Flower goes on.
    assert strategy.aggregate_train(1, [failed("<class 'OSError'>:<'gone'>")]) == (None, None)
