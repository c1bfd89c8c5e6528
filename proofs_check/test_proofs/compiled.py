"""Calls that ``torch.compile`` refuses, or computes unlike NumPy: a process without the checks of shapes in tests.

Lines of standard input name rules and rounds; a JSON object on standard output has the fault of each.
"""

from __future__ import annotations

import json
import sys
import warnings

import torch
from test_proofs.traced import EVERY, agree, in_torch, numbers


def wrong(label: str) -> str:
    """Fault of a call in one graph, eager beneath; empty if the result is NumPy's."""
    t = EVERY[label](label)
    torch.compiler.reset()
    compiled = torch.compile(t.run, fullgraph=True, backend="eager")
    try:
        agree(numbers(compiled(*in_torch((t.moved, t.still)))), numbers(t.run(t.moved, t.still)), label)
    except (torch._dynamo.exc.TorchDynamoException, AssertionError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def main() -> None:
    # Caches of what a type is: dynamo says that it looks through them.
    warnings.simplefilter("ignore", UserWarning)
    found = {label: wrong(label) for label in sys.stdin.read().splitlines()}
    print(json.dumps({label: said for label, said in found.items() if said}))


if __name__ == "__main__":
    main()
