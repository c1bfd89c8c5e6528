"""FedMom: the server's last move from all changes, and its reductions to other algorithms."""

from __future__ import annotations

from fedspec_properties.closed_forms.sums import decayed
from fedspec_properties.reductions.edge import reduces

STEPS = {
    "fedmom": lambda past, h, o: (
        h["eta"]
        * (
            decayed(h["beta"], past)
            if o["momentum"] == "heavy-ball"
            else past[-1] + h["beta"] * decayed(h["beta"], past)
        )
    )
}

EDGES = (
    reduces("fedmom", "fedavg", "by its definition").under(beta=0.0),
    reduces("fedmom", "fedavgm", "a difference of points is eta times the buffer")
    .under("always, at a rate that stays")
    .told(momentum_sum="sum"),
)
