"""FedPD on a module and minibatches: a plain loop whose clients go on from where they were, in every way."""

from __future__ import annotations

from test_mirror.loops import RATE, Plain
from test_mirror.test_mime import KIND, ROUNDS, in_every_way, off
from torch import Tensor

MU = 0.5


def looped(plain: Plain, steps: tuple[int, ...]) -> list[Tensor]:
    """Tensor by tensor; a client's sum of all its distances from the server's models stands for its dual."""
    x = plain.x
    at, gone = [x] * 3, [[0 * part for part in x]] * 3
    for plain.round in range(ROUNDS):
        for i, tau in enumerate(steps):
            for k in range(tau):
                g = plain.gradient(at[i], i, k)
                at[i] = [y - RATE * (a + MU * (far + y - v)) for y, a, far, v in zip(at[i], g, gone[i], x, strict=True)]
            gone[i] = [far + y - v for far, y, v in zip(gone[i], at[i], x, strict=True)]
        x = [sum(parts) / 3 for parts in zip(*at, strict=True)]
        x = [v + sum(parts) / 3 for v, parts in zip(x, zip(*gone, strict=True), strict=True)]
    return x


@in_every_way
def test_a_run_on_minibatches_is_the_plain_loop(steps: tuple[int, ...], way: str | None) -> None:
    assert off(looped(Plain(KIND), steps), "fedpd", steps, way, mu=MU) < 1e-9
