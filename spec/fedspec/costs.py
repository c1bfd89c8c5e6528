"""Costs of an algorithm in floats: floats sent in a round, and floats kept in memory.

The papers say little about costs (FedAda2, L192 and L204; FedNova, L34 and L237; AFGA, Table 7; Fed-LAMB, L290); the
formulas follow from the algorithms, and the tests count them on the specification. Not counted: the sample sizes, which
are known before the first round, whole numbers such as tau_i, the gradient itself, and the choice of participants.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

from fedspec.errors import FedspecError

SYMBOLS: dict[str, str] = {
    "d": "parameters of the model",
    "p": "parameters of the fragment that is sent in a round",
    "n": "clients",
    "m": "clients that take part in a round; updates in a buffer",
    "k": "entries that a client sends of a vector, beside their places",
    "tau": "local steps of a round",
    "q": "sets of the cover: at most d, for a matrix with one set for each row and column their number",
    "|E|": "directed links: pairs i != j with W_ij > 0; 2n in a ring of n > 2",
}
"""Symbols of the cost formulas, with their meanings."""

_TOKEN = re.compile(r"[0-9]+(?:\.[0-9]+)?|\|E\||[A-Za-z]\w*|\S")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_SYMBOL = re.compile(r"\|E\||[A-Za-z]\w*")


def floats(formula: str, sizes: Mapping[str, int]) -> int:
    """Evaluate a cost formula such as ``m (2 d + 1)`` exactly and round up, since nobody can send half a float.

        sum     = product, or several with + or - between them
        product = factor, then further factors side by side or with *, and / before a number that divides what is there
        factor  = number, symbol or ( sum ), and ^ after it before a whole number

    Raises:
        FedspecError: the formula is invalid; the message has the token and its place.
        KeyError: a symbol of the formula has no size.
    """
    tokens = deque(_TOKEN.findall(formula))
    value = _sum(tokens, sizes)
    if tokens:
        raise _unread(tokens, "the end, or + - * / between factors")
    return ceil(value)


def _sum(tokens: deque[str], sizes: Mapping[str, int]) -> Fraction:
    total = _product(tokens, sizes)
    while tokens and tokens[0] in {"+", "-"}:
        sign = 1 if tokens.popleft() == "+" else -1
        total += sign * _product(tokens, sizes)
    return total


def _product(tokens: deque[str], sizes: Mapping[str, int]) -> Fraction:
    product = _factor(tokens, sizes)
    while tokens:
        if tokens[0] == "/":
            tokens.popleft()
            if not (tokens and _NUMBER.fullmatch(tokens[0]) and Fraction(tokens[0])):
                raise _unread(tokens, "a number above 0")
            product /= Fraction(tokens.popleft())
        elif tokens[0] == "*":
            tokens.popleft()
            product *= _factor(tokens, sizes)
        elif tokens[0] == "(" or _NUMBER.fullmatch(tokens[0]) or _SYMBOL.fullmatch(tokens[0]):
            product *= _factor(tokens, sizes)
        else:
            break
    return product


def _factor(tokens: deque[str], sizes: Mapping[str, int]) -> Fraction:
    if tokens and tokens[0] == "(":
        tokens.popleft()
        value = _sum(tokens, sizes)
        if not (tokens and tokens[0] == ")"):
            raise _unread(tokens, "the ) of a (")
        tokens.popleft()
    elif tokens and _NUMBER.fullmatch(tokens[0]):
        value = Fraction(tokens.popleft())
    elif tokens and _SYMBOL.fullmatch(tokens[0]):
        value = Fraction(sizes[tokens.popleft()])
    else:
        raise _unread(tokens, "a number, a symbol or (")
    if tokens and tokens[0] == "^":
        tokens.popleft()
        if not (tokens and tokens[0].isdecimal()):
            raise _unread(tokens, "a whole number")
        value = value ** int(tokens.popleft())
    return value


def _unread(tokens: Collection[str], want: str) -> FedspecError:
    """Error for a formula at the first of the tokens that are left."""
    there = f"{next(iter(tokens))!r} stands" if tokens else "it ends"
    return FedspecError(f"{there} where {want} is wanted")


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Cost formulas of an algorithm, in the symbols of ``SYMBOLS``.

    Attributes:
        down: floats from the server to all clients in one round (in one server step for late updates).
        up: floats from clients to the server.
        gossip: floats between clients.
        client: floats that one client keeps from round to round.
        working: floats that one client needs while it computes: its model, its solver's state, and the received data.
        server: floats that the server keeps from round to round.
        note: remark on the costs that the formulas do not contain.
    """

    down: str = "0"
    up: str = "0"
    gossip: str = "0"
    client: str = "0"
    working: str = "d"
    server: str = "0"
    note: str = ""


UNRECORDED = Costs(working="0", note="not recorded yet: the row says no costs")
"""Placeholder costs of a row whose author hasn't counted them yet."""
