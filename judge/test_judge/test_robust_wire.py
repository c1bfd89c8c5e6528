"""Mutated protocol lines: refused by an error of fedspec's own, or accepted and valid by the schemas; never a crash."""

from __future__ import annotations

import io
import json
import math
from collections import Counter
from typing import Any

import jsonschema
import numpy as np
import pytest
from test_judge.support import ROOT, module_at

from fedspec.errors import ContractError, FedspecError
from fedspec.schema import DEEPEST, check, check_message
from fedspec.serve import serve
from fedspec.wire import decode_array, decode_event, decode_info, decode_reply, decode_request, encode

SCRIPT = ROOT / "scripts/fuzz_wire.py"
FUZZ = module_at(SCRIPT)
COUNT = 500


@pytest.fixture(scope="module")
def outcomes() -> dict[str, tuple[Counter[str], list[str]]]:
    found: dict[str, tuple[Counter[str], list[str]]] = FUZZ.run(COUNT, seed=3)
    return found


@pytest.mark.parametrize("side", ["replies, read by the judge", "requests, read by an adapter", "requests, served"])
def test_mutated_lines_are_refused_or_valid(side: str, outcomes: dict[str, tuple[Counter[str], list[str]]]) -> None:
    counts, wrong = outcomes[side]
    assert not wrong, wrong[:3]
    assert sum(counts.values()) >= COUNT - 5
    # Neither has the sample gone blunt.
    assert counts["refused"] > COUNT // 2
    assert counts["accepted and valid"] + counts["answered"] > COUNT // 50


def test_lines_as_they_are_written_are_accepted() -> None:
    for lines, read in zip(FUZZ.dialogue(), (FUZZ.request_reader(), FUZZ.reply_reader()), strict=True):
        for command, line in lines:
            if b'"ok": false' not in line:
                read(command, line)


def test_the_count_finds_a_reader_that_accepts_too_much() -> None:
    schema = jsonschema.Draft202012Validator(json.loads((FUZZ.FOLDER / "reply.schema.json").read_text()))
    counts, wrong = FUZZ.tried([("stop", b'{"ok": 1}'), ("stop", b"{")], lambda command, line: None, schema)
    assert counts["accepted against the schema"] == len(wrong) == 2

    def crashes(command: str, line: bytes) -> None:
        raise KeyError(command)

    assert FUZZ.tried([("stop", b"{}")], crashes, schema)[0] == {"crashed": 1}


OFFER = {"algorithm": "sgd", "level": "client", "reading": "fednova"}
ROUND = {"type": "round", "participants": [0], "steps": [1]}
GRADIENT = {"type": "gradient", "g": {"w": [1.0]}}
SENT, SAYS = {"type": "messages"}, {"client": 0, "delta": {"w": [1.0]}, "weight": 1, "steps": 1, "a_norm": 1.0}

SAID: list[tuple[Any, str]] = [
    (lambda: decode_request(b"[]"), "request: got a list; want an object"),
    (lambda: decode_request(b'{"cmd": ["hello"]}'), "request: unknown command a list; known: hello, start"),
    (lambda: decode_request(b'{"cmd": "stop"}'), "request: has no 'session'; needs cmd, session"),
    (lambda: decode_request(b'{"cmd": "stop", "session": true}'), "request.session: got true; want a whole number"),
    (lambda: decode_request(b'{"cmd": "stop", "session": -1}'), "request.session: got -1; want a number >= 0"),
    (lambda: decode_request(b'{"cmd": "stop", "session": 1, "x": 1}'), "request: has an unknown field 'x'"),
    (lambda: decode_request(b"[" * 100_000), "request: its lists or objects are nested too deeply"),
    (lambda: decode_request(b"\xff{}"), "request: is not JSON in UTF-8"),
    (lambda: decode_request(b"1" * 5000), "request: is not JSON"),
    (lambda: decode_info({"name": "a", "version": "1", "offers": [{**OFFER, "level": "x"}]}), "info.claims[0].level"),
    (lambda: decode_info({"name": "a", "version": "1", "offers": [{**OFFER, "a b": 1}]}), "unknown field 'a b'"),
    (lambda: decode_info({"name": "a", "version": "1", "offers": [OFFER], "concurrent": 1}), "want true or false"),
    (lambda: decode_event({**ROUND, "steps": [0]}), "event.steps[0]: got 0; want a number >= 1"),
    (lambda: decode_event({**ROUND, "participants": []}), "event.participants: is empty; give at least 1"),
    (lambda: decode_event({**ROUND, "scales": ["1"]}), "event.scales[0]: got '1'; want a number"),
    (lambda: decode_event({"type": "gradient", "g": {}}), "event.g: is empty"),
    (lambda: decode_event({"type": "gradient", "g": {"w": [1, None]}}), "event.g.w[1]: got null; want a number"),
    (lambda: decode_array([10**309]), "array[0]: got a whole number of 1027 bits; want a number that a floating"),
    (lambda: decode_array("NaN"), "array: got 'NaN'; want a number, or one of the words nan, inf, -inf"),
    (lambda: decode_reply(b'{"ok": true, "more": 1}', "start"), "reply: has an unknown field 'more'; known: ok"),
    (lambda: decode_reply(b'{"ok": true}', "hello"), "reply: has no 'info'"),
    (lambda: decode_reply(b'{"ok": true}', "step"), "reply: has no 'answer'"),
    (lambda: decode_reply(b'{"ok": false}', "step"), "reply: has no 'error'; needs ok, error"),
    (lambda: decode_reply(b'{"ok": true, "answer": {"x": [1, [true]]}}', "step"), "reply.answer.x[1][0]: got true"),
    *(
        (lambda v=v: decode_event({**ROUND, "hyper": {"eta_l": v}}), "event.hyper.eta_l")
        for v in ("0.1", None, True, [[0.1]], {"0": 1})
    ),
    *((lambda v=v: decode_event({**GRADIENT, "eta_l": v}), "event.eta_l") for v in (0, -1.0, "0.1", True, [0.1])),
    *((lambda v=v: decode_event({**SENT, "messages": [{**SAYS, "loss": v}]}), "loss") for v in (0, -1, "1")),
]


@pytest.mark.parametrize(("read", "says"), SAID, ids=[says for _, says in SAID])
def test_errors_say_where_what_came_and_what_is_wanted(read: Any, says: str) -> None:
    with pytest.raises(ContractError) as caught:
        read()
    assert says in str(caught.value)
    assert len(str(caught.value)) < 300 and "\n" not in str(caught.value)


def test_words_for_numbers_become_floats() -> None:
    line = b'{"ok": true, "answer": {"x": {"w": [1, "nan", "-inf"]}, "tau": "inf", "m": null, "dtype": "inf"}}'
    answer = decode_reply(line, "step")["answer"]
    assert answer["x"]["w"][0] == 1 and math.isnan(answer["x"]["w"][1]) and answer["x"]["w"][2] == -math.inf
    assert (answer["tau"], answer["m"], answer["dtype"]) == (math.inf, None, "inf")


def test_the_deepest_array_is_one_that_numpy_holds() -> None:
    value: Any = 1.0
    for _ in range(DEEPEST):
        value = [value]
    assert decode_array(value).ndim == DEEPEST
    with pytest.raises(ContractError, match=f"more than {DEEPEST} times"):
        decode_array([value])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_largest_number_is_read_and_the_next_refused(dtype: str) -> None:
    largest = 2**1024 - 2**970 - 1
    assert decode_array([largest], dtype)[0] == (np.inf if dtype == "float32" else np.finfo(dtype).max)
    with pytest.raises(ContractError, match="1024 bits"):
        decode_array([largest + 1], dtype)


def test_unknown_names_of_the_schemas_are_a_slip_of_ours() -> None:
    with pytest.raises(FedspecError, match="no definition of nothing"):
        check({}, "nothing", "x")
    with pytest.raises(KeyError):
        check_message({}, "request", "sing", "x")


def test_numbers_wider_than_double_have_a_json_form() -> None:
    assert encode(np.array([1.5, np.inf], dtype=np.longdouble)) == [1.5, "inf"]


def test_a_line_that_is_no_request_is_answered_and_the_next_is_served() -> None:
    out = io.StringIO()
    serve(FUZZ.Echo(), [b"\xff\n", b"\n", b"[" * 100_000 + b"\n", '{"cmd": "hello", "protocol": 1}\n'], out)
    assert [json.loads(line)["ok"] for line in out.getvalue().splitlines()] == [False, False, True]
