"""The JSON form: both sides keep their schemas, and numbers survive the way there and back to the last bit."""

from __future__ import annotations

import io
import json
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError

from fedspec.contract import Begin, Case
from fedspec.errors import ContractError
from fedspec.reference import SUBJECT
from fedspec.serve import serve
from fedspec.wire import decode_array, decode_case, decode_event, decode_info, encode
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.setting import setting_of

FOLDER = files("fedspec") / "schemas"
REQUEST = Draft202012Validator(json.loads((FOLDER / "request.schema.json").read_text()))
REPLY = Draft202012Validator(json.loads((FOLDER / "reply.schema.json").read_text()))
OFFERS = {(o.algorithm, o.level): o for o in reversed(SUBJECT.info.offers)}


def replies_to(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out = io.StringIO()
    serve(SUBJECT, io.StringIO("".join(json.dumps(r) + "\n" for r in requests)), out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_greeting_keeps_both_schemas() -> None:
    """Its reply holds all offers."""
    hello = {"cmd": "hello", "protocol": 1}
    REQUEST.validate(hello)
    (reply,) = replies_to([hello])
    REPLY.validate(reply)
    assert reply["ok"]
    assert not REPLY.is_valid({**reply, "info": {}})


@pytest.mark.table(10)
@pytest.mark.long
@pytest.mark.parametrize("key", OFFERS, ids="/".join)
def test_a_session_keeps_both_schemas(key: tuple[str, str]) -> None:
    s = plain_scenario(setting_of(OFFERS[key], "float64"))
    requests: list[dict[str, Any]] = [
        {"cmd": "hello", "protocol": 1},
        {"cmd": "start", "session": 1, "case": encode(s.case)},
        *({"cmd": "step", "session": 1, "event": encode(e)} for e in s.events),
        {"cmd": "stop", "session": 1},
        {"cmd": "step", "session": 1, "event": encode(s.events[0])},
        {"cmd": "sing"},
    ]
    for request in requests[:-1]:
        REQUEST.validate(request)
    replies = replies_to(requests)
    for reply in replies[1:]:
        REPLY.validate(reply)
    assert [r["ok"] for r in replies] == [True] * (len(requests) - 2) + [False, False]


@settings(max_examples=200)
@given(st.floats(width=64), st.floats(width=32))
def test_floats_survive_to_the_last_bit(wide: float, narrow: float) -> None:
    for value, dtype in ((wide, "float64"), (narrow, "float32")):
        line = json.dumps(encode(np.array([value], dtype=dtype)), allow_nan=False)
        back = decode_array(json.loads(line), dtype)
        assert back.dtype == dtype
        np.testing.assert_array_equal(back, np.array([value], dtype=dtype))


def test_case_and_events_survive() -> None:
    s = plain_scenario(setting_of(OFFERS["fednova", "round"], "float32"))
    back: Case = decode_case(json.loads(json.dumps(encode(s.case))))
    assert (back.algorithm, back.level, back.options, back.hyper) == (
        s.case.algorithm,
        s.case.level,
        s.case.options,
        s.case.hyper,
    )
    assert back.problem is not None and back.problem.H.dtype == np.float32
    begin = Begin({"b": np.ones(2), "a": np.zeros((2, 2))})
    again = decode_event(json.loads(json.dumps(encode(begin))))
    assert isinstance(again, Begin) and list(again.x) == ["b", "a"]


@pytest.mark.parametrize(
    "bad",
    [
        {},
        {"name": "a", "version": "1"},
        {"name": "a", "version": "1", "offers": [{"algorithm": "sgd"}]},
        {"name": "a", "version": "1", "offers": [{"algorithm": "sgd", "level": "clients", "reading": "fednova"}]},
        {"name": "a", "version": "1", "offers": [{"algorithm": "sgd", "level": "client", "reading": "x", "fix": {}}]},
    ],
)
def test_info_that_is_no_info_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(ContractError, match="info"):
        decode_info(bad)
    with pytest.raises(ValidationError):
        REPLY.validate({"ok": True, "info": bad})


def test_arrays_that_are_none_are_refused() -> None:
    for bad in ([[1, 2], [3]], ["one"], {"w": 1}):
        with pytest.raises(ContractError, match="array"):
            decode_array(bad)


def test_unknown_events_are_refused() -> None:
    with pytest.raises(ContractError, match="gradient, begin, messages, round"):
        decode_event({"type": "sing"})
