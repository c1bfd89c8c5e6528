"""The JSON form: both sides keep their schemas, and numbers survive the way there and back to the last bit."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from dataclasses import is_dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator, ValidationError
from test_judge.test_capsules import asked_of

from fedspec.catalogue import find
from fedspec.contract import SubjectInfo
from fedspec.errors import ContractError
from fedspec.reference import SUBJECT
from fedspec.serve import serve
from fedspec.wire import decode_array, decode_case, decode_event, decode_info, encode
from fedspec_suite.judge.capsules.codec import encoded
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.laws import Law, all_laws
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_draws import draw_cases
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


def scenarios_in(case: Any) -> Iterator[Scenario]:
    """Every scenario of a law's case."""
    if isinstance(case, Scenario):
        yield case
    elif is_dataclass(case) or isinstance(case, tuple):
        for part in case if isinstance(case, tuple) else vars(case).values():
            yield from scenarios_in(part)


def told(value: Any) -> str:
    """All of it; words and numbers stand for members of enumerations and NumPy's numbers, which some laws draw."""
    return re.sub(r"<\w+\.\w+: ('[\w-]+')>|np\.float\d\d\(([^()]+)\)", r"\1\2", repr(value))


def without_null(value: Any) -> Any:
    """Value without the fields that need not be named."""
    if isinstance(value, dict):
        return {n: without_null(v) for n, v in value.items() if v is not None}
    return [*map(without_null, value)] if isinstance(value, list) else value


@pytest.mark.table(20)
@pytest.mark.parametrize("law", all_laws().values(), ids=lambda law: law.id)
def test_cases_and_events_of_every_law_come_back(law: Law) -> None:
    """Rates of rounds, clients and steps, losses, control variates, populations and buffers among them."""
    kinds = {(offer.level, find(offer.algorithm).event): offer for offer in asked_of(law)}
    for k, offer in enumerate(kinds.values()):
        dtype = offer.dtypes[k % len(offer.dtypes)]
        case = draw_cases(law.cases(setting_of(offer, dtype)), 2, seed=1)[-1]
        for s in scenarios_in(case):
            assert repr(decode_case(json.loads(json.dumps(encode(s.case))))) == told(s.case)
            for event in s.events:
                for form in (encode(event), without_null(encode(event))):
                    assert repr(decode_event(json.loads(json.dumps(form)), dtype)) == told(event)


def test_who_offers_nothing_of_it_never_hears_of_losses_rates_and_buffers() -> None:
    """Neither lines nor capsules name these fields where there are none."""
    for level in ("server", "round"):
        s = plain_scenario(setting_of(OFFERS["fedavg", level]))
        (event, *_), case = map(encode, s.events), encode(s.case)
        fields = event["messages"][0] if level == "server" else case["problem"]
        control = {"client", "delta", "weight", "steps", "a_norm", "control"}
        assert set(fields) == (control if level == "server" else {"H", "e", "examples"})
        info = encode(SubjectInfo("a", "1", (OFFERS["fedavg", level],)))
        for line in (case, event, info, encoded(s)):
            assert not re.search(r'"(loss|f|hyper|buffers)": (?!\{"dict"|\{"eta)', json.dumps(line)), line


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


@pytest.mark.parametrize("made", [np.array([1.0, -8.0], dtype=complex) ** (1 / 3), {"x": (1 + 2j)}])
def test_a_complex_number_is_refused(made: Any) -> None:
    with pytest.raises(ContractError, match=r"got .*j; return real numbers"):
        encode(made)
