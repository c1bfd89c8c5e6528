"""FedAvg over whole state_dicts, to check what happens to BatchNorm's statistics and to its counter.

``fedspec check examples/state_dict.py --law 'buffers-*'`` says it.
"""

import numpy as np

from fedspec.contract import Claim, Info


class Session:
    """Session of a case: the server's state_dict."""

    def __init__(self, case):
        self.names = list(case.x0)
        self.state = {**case.x0, **(case.buffers or {})}

    def step(self, event):
        """Average all entries by numbers of examples."""
        total = sum(m.weight for m in event.messages)
        p = [m.weight / total for m in event.messages]
        sent = [{**{n: self.state[n] + m.delta[n] for n in self.names}, **(m.buffers or {})} for m in event.messages]
        for name, held in self.state.items():
            mean = sum(w * one[name] for w, one in zip(p, sent, strict=True))
            # As load_state_dict does, which copies into the tensors that are there.
            self.state[name] = np.asarray(mean).astype(held.dtype)
        answer = {"x": {name: self.state[name] for name in self.names}}
        carried = {name: b for name, b in self.state.items() if name not in self.names}
        return {**answer, "buffers": carried} if carried else answer


class Adapter:
    """Adapter with its claims."""

    info = Info(
        "state_dict",
        "2026",
        (
            Claim(
                "fedavg",
                "server",
                "mcmahan-2017",
                {"weights": "examples"},
                fixed={"eta": 1.0},
                dtypes=("float64",),
                buffers={"statistics": "averaged", "counters": "averaged"},
            ),
        ),
    )
    start = Session
