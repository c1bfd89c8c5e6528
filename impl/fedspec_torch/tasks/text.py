"""Next-character prediction on CPython's documentation (``pydoc_data.topics``), one topic for each client.

The text comes with Python and differs between releases: ``digest`` identifies it.
"""

from __future__ import annotations

import hashlib
from functools import cache

import numpy as np
from torch import nn

from fedspec.arith import Array
from fedspec.errors import FedspecError, ParameterError, PlanError
from fedspec_torch.tasks.models import initialised
from fedspec_torch.tasks.task import Asked, Kind, Pair, Task, federated, tensors

DIGEST = "6061bdb5e47e53fb"
"""Digest of the text in Python 3.11.7, on which the recipes were run."""

ALPHABET = "\n" + "".join(map(chr, range(32, 127)))
"""Characters with their own code; all remaining characters share one more code."""

HELD_OUT = 10
"""Inverse of the test share: the last tenth of each topic is for the test."""


@cache
def topics() -> dict[str, str]:
    """Return the topics' texts by name, the longest first.

    Raises:
        FedspecError: this Python has no pydoc topics.
    """
    try:
        from pydoc_data.topics import topics as found
    except ImportError as missing:
        raise FedspecError(
            "pydoc: this Python lacks the module pydoc_data.topics; use a build of Python with its full library"
        ) from missing
    return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0])))


@cache
def digest() -> str:
    """Return a short digest of this Python's text."""
    return hashlib.sha256(repr(sorted(topics().items())).encode()).hexdigest()[:16]


def other_text() -> str:
    """Return a warning if this Python's text differs from the recipes' text; "" otherwise."""
    if digest() == DIGEST:
        return ""
    return (
        f"pydoc: the text of this Python, {digest()}, is another one than that of 3.11.7, {DIGEST}, which recipes were "
        f"run on; their sentences may not come out"
    )


def pydoc(asked: Asked) -> Task:
    """Make clients of the longest topics: predict the next from ``context`` characters, at every ``every``-th place.

    Raises:
        ParameterError: ``context`` or ``every`` is below 1.
        PlanError: too few topics are long enough.
    """
    context, every = asked.given["context"], asked.given["every"]
    for name, value in (("context", context), ("every", every)):
        if value < 1:
            raise ParameterError(f"pydoc: {name}: got {value}; give a whole number >= 1")
    texts = [text for text in topics().values() if len(text) >= 2 * HELD_OUT * (context + every)]
    if asked.clients > len(texts):
        raise PlanError(
            f"clients: got {asked.clients}, but pydoc has only {len(texts)} topics that are long enough; take at most "
            "that many"
        )
    held, pairs = [], []
    for text in texts[: asked.clients]:
        codes = np.array([ALPHABET.find(letter) for letter in text])
        codes[codes < 0] = len(ALPHABET)
        cut = len(codes) - len(codes) // HELD_OUT
        pairs.append(_examples(codes[:cut], context, every))
        held.append(_examples(codes[cut:], context, every))
    letters = len(ALPHABET) + 1
    module = nn.Sequential(
        nn.Embedding(letters, 16), nn.Flatten(), nn.Linear(16 * context, 64), nn.Tanh(), nn.Linear(64, letters)
    )
    federation = federated(asked, initialised(module, asked.seed), nn.functional.cross_entropy, pairs)
    inputs, targets = (np.concatenate(parts) for parts in zip(*held, strict=True))
    return Task(federation, tensors((inputs, targets), asked.device))


def _examples(codes: Array, context: int, every: int) -> Pair:
    """Windows of so many characters, and what follows each."""
    windows = np.lib.stride_tricks.sliding_window_view(codes, context + 1)[::every]
    return windows[:, :-1], windows[:, -1]


KINDS = {
    "pydoc": Kind(
        "the next character in Python's own documentation, a topic for each client",
        ("char",),
        pydoc,
        {"context": 8, "every": 4},
        note=other_text,
    )
}
