"""What an algorithm costs: the floats that are sent in a round, and those that are kept.

The papers say little about it (FedAda2, L192 and L204; FedNova, L34 and L237; AFGA, Table 7; Fed-LAMB, L290); the
formulas follow from the algorithms, and the tests count them on the specification. Not counted: the sample sizes, which
are known before the first round, whole numbers such as tau_i, the gradient itself, and the choice of participants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

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
"""What stands in the formulas."""

_TOKEN = re.compile(r"\s*(\d+|\|E\||[a-z]+|[-+()])")


def floats(formula: str, sizes: Mapping[str, int]) -> int:
    """The value of a formula such as ``m (2 d + 1)``, in which factors stand side by side.

    Raises:
        KeyError: it has a symbol that is given no size.
    """
    tokens = [m[1] for m in _TOKEN.finditer(formula)]
    stream = iter([*tokens, ")"])
    return _sum(stream, sizes)


def _sum(tokens: Iterator[str], sizes: Mapping[str, int]) -> int:
    total, product, sign = 0, None, 1
    for token in tokens:
        if token in "+-)":
            total += sign * (product or 0)
            product, sign = None, -1 if token == "-" else 1
            if token == ")":
                return total
            continue
        factor = _sum(tokens, sizes) if token == "(" else int(token) if token.isdigit() else sizes[token]
        product = factor if product is None else product * factor
    return total


@dataclass(frozen=True, kw_only=True)
class Costs:
    """Formulas in the symbols of ``SYMBOLS``.

    Attributes:
        down: floats from the server to clients, for all of them, in one round (one server step where updates arrive).
        up: floats from clients to the server.
        gossip: floats between clients.
        client: floats that one client keeps from round to round.
        working: floats that one client needs while it computes: its model, the state of its solver, what it received.
        server: floats that the server keeps from round to round.
        note: what the formulas do not say.
    """

    down: str = "0"
    up: str = "0"
    gossip: str = "0"
    client: str = "0"
    working: str = "d"
    server: str = "0"
    note: str = ""


UNRECORDED = Costs(working="0", note="not recorded yet: the row says no costs")
"""What a row has until somebody counts."""
