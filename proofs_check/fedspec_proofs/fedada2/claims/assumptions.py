"""Assumptions 1 and 2, and the paper's consequence of them for clients at two distant points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, curried, decide, decided, every, exact
from fedspec_proofs.fedada2.kit.problems import Huber
from fedspec_proofs.fedada2.kit.rational import F

L78 = "after Assumption 2 (L138)"


def _client(scale: Any, centre: Any) -> Callable[[int, Any], Any]:
    """Huber client in one dimension with scale and centre of any number type."""
    centres = np.array([[centre]], dtype=object)
    return Huber(centres, np.array([scale], dtype=object)).clients[0]


@claim(
    "fedada2.assumption-1",
    statement="On the line a Huber client of scale s meets Assumption 1 with L = s, for all pairs of points",
    source="ours, an instance of Assumption 1 (L130)",
    assumptions={"s > 0": "the scale", "L >= s": "the constant"},
)
def smoothness() -> Finding:
    """Proof in one dimension; in d dimensions per coordinate. F(x) = x^4 satisfies it for no L: see the evidence."""

    def body(draw: Draw) -> Statement:
        x, y, s, c, L = draw("x", 1), draw("y", 1), draw("s"), draw("c"), draw("L")
        client = _client(s, c)
        (change,), (apart,) = client(0, x) - client(0, y), x - y
        return Statement(
            {"s > 0": s > 0, "L >= s": s <= L}, {"|g(x) - g(y)| <= L |x - y|": change**2 <= (L * apart) ** 2}
        )

    found = decide(body)
    quartic = [(L, (L + 1) ** 3 > L * (L + 1)) for L in (F(1), F(10), F(1000))]
    words = f"x^4/4 fails between 0 and L + 1 for L = 1, 10, 1000: {all(fails for _, fails in quartic)}"
    return Finding(found.verdict, f"{found.evidence}\n{words}", found.dropped, found.second)


@claim(
    "fedada2.assumption-2",
    statement="On the line a Huber client of scale s meets Assumption 2 with G = s; a quadratic client meets it "
    "with no G",
    source="ours, an instance of Assumption 2 (L134)",
    assumptions={"s > 0": "the scale", "G >= s": "the constant"},
)
@decided()
def boundedness(draw: Draw) -> Statement:
    """For any G a quadratic's gradient is 2 G at some point; so FedAda2's theory excludes its own Prop. 9."""
    x, s, c, G = draw("x", 1), draw("s"), draw("c"), draw("G")
    (g,) = _client(s, c)(0, x)
    H, e = np.array([[[F(1)]]], dtype=object), np.array([[F(0)]], dtype=object)
    (other,) = QuadraticClients(H, e).clients
    (steep,) = other(0, exact.vector(0) * 0 + 2 * G)
    return Statement(
        {"s > 0": s > 0, "G >= s": s <= G},
        {"|g(x)| <= G": every(g <= G, -g <= G), "the quadratic's gradient at 2 G is beyond G": steep > G},
    )


@curried
def _apart(draw: Draw, d: int) -> Statement:
    a, b, z = draw("a", d), draw("b", d), draw("z", d)
    G, near = draw("G"), draw("near")
    distance, change = sum(z * z), sum((a - b) ** 2)
    given = {
        "Assumption 2": every(*[v <= G for v in (*a, *b)], *[-v <= G for v in (*a, *b)]),
        "|x - y| >= eta_l eps_s": distance >= near * near,
        "eta_l eps_s > 0": near > 0,
    }
    # Ltilde^2 |x - y|^2 = 4 d G^2 |x - y|^2/near^2, whose last factor is at least 1.
    shown = {
        "|a - b|^2 <= 4 d G^2": change <= 4 * d * G * G,
        "|x - y|^2/(eta_l eps_s)^2 >= 1": distance / (near * near) >= 1,
    }
    return Statement(given, shown)


@claim(
    "fedada2.l78",
    statement="|grad F_i(x) - grad F_j(y)| <= Ltilde |x - y|, Ltilde = 2 sqrt(d) G/(eta_l eps_s), where |x - y| >= "
    "eta_l eps_s",
    source=L78,
    sizes="d = 1, 2",
    assumptions={
        "Assumption 2": "|g_j| <= G for both gradients",
        "|x - y| >= eta_l eps_s": "the arguments lie apart",
        "eta_l eps_s > 0": "",
    },
)
def apart() -> Finding:
    """Compared in squares for d = 1, 2. The consequence is 2 sqrt(d) G <= 2 sqrt(d) G |x - y|/(eta_l eps_s)."""
    found, plane = decide(_apart(1)), decide(_apart(2), ablate=False)
    if plane.verdict is not Verdict.PROVED:
        return plane
    return Finding(found.verdict, f"d = 1: {found.evidence}\nd = 2: {plane.evidence}", found.dropped, found.second)
