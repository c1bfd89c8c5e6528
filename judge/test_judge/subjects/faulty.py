"""FedAvg's server in plain NumPy, and what each of several does with messages that aren't right."""

from __future__ import annotations

import numpy as np
from right import Subject, flat, named

from fedspec.contract import Offer
from fedspec.faults import KINDS

SKIPPING = dict.fromkeys(KINDS, "skips")


class Server:
    """Averages what it is sent, by examples."""

    def __init__(self, case):
        self.x, self.like, self.eta, self.rounds = flat(case.x0), case.x0, case.hyper["eta"], 0

    def step(self, event):
        self.rounds += 1
        with np.errstate(all="ignore"):
            self.take([(self.change(m), m.weight, self.right(m)) for m in self.sent(event.messages)])
        return {"x": named(self.x, self.like)}

    def sent(self, messages):
        return messages

    def change(self, m):
        return np.concatenate([np.broadcast_to(a, self.like[n].shape).reshape(-1) for n, a in m.delta.items()])

    def right(self, m):
        weight = m.weight is not None and np.isfinite(m.weight) and m.weight > 0
        shaped = all(np.shape(a) == self.like[n].shape for n, a in m.delta.items())
        late = m.round is not None and m.round < self.rounds
        return bool(weight and shaped and not late and np.isfinite(self.change(m)).all())

    def take(self, rows):
        w = np.array([w for _, w, _ in rows], dtype=float)
        self.x = self.x + self.eta * sum(w_i * d for w_i, (d, _, _) in zip(w, rows, strict=True)) / w.sum()


class Skipping(Server):
    """Leaves out what isn't right, and does nothing in a round without the rest."""

    def sent(self, messages):
        return list({m.client: m for m in reversed(messages)}.values())[::-1]

    def take(self, rows):
        if good := [row for row in rows if row[2]]:
            super().take(good)


def taking(of):
    """A server that makes another row of a change, its weight, and whether its message is right."""
    take = lambda self, rows: Server.take(self, [of(*row) for row in rows])  # noqa: E731
    return type("Taking", (Server,), {"take": take})


def changing(of):
    """A server that makes another change of a message's."""
    return type("Changing", (Server,), {"change": lambda self, m: of(Server.change(self, m))})


# A change that isn't right is set to zero, and all weights are divided by; a weight that is none counts as 1; a change
# that isn't right counts half.
Keeping = taking(lambda d, w, right: (d if right else np.zeros_like(d), w, right))
Ones = taking(lambda d, w, right: (d, w if right else 1, right))
Halving = taking(lambda d, w, right: (np.nan_to_num(d) * (1 if right else 0.5), w, right))
# 1 stands in the place of NaN, which is no treatment that can be declared; or 0 in that of all that isn't finite.
Clipping = changing(lambda d: np.nan_to_num(d, nan=1.0))
Zeroing = changing(lambda d: np.nan_to_num(d, posinf=0.0, neginf=0.0))


class Strict(Server):
    """Refuses what isn't right."""

    def take(self, rows):
        if not rows or not all(right for _, _, right in rows):
            raise ValueError("a message isn't right")
        super().take(rows)


class Late(Server):
    """Passes NaN on, and fails a round later, as code does that looks at the model before it sends it."""

    def take(self, rows):
        if not np.isfinite(self.x).all():
            raise FloatingPointError("the model is not finite")
        super().take(rows)


class Dropping(Server):
    """Does nothing in a round with anything that isn't right."""

    def take(self, rows):
        if all(right for _, _, right in rows):
            super().take(rows)


class Barring(Skipping):
    """Leaves out a client for good once it has sent infinite numbers."""

    def __init__(self, case):
        super().__init__(case)
        self.barred = set()

    def sent(self, messages):
        self.barred |= {m.client for m in messages if np.isinf(self.change(m)).any()}
        return [m for m in messages if m.client not in self.barred]


class Cleaning(Server):
    """Calls np.nan_to_num, which makes the largest number of infinity."""

    def change(self, m):
        return np.nan_to_num(super().change(m))

    def take(self, rows):
        # A weight above 1 would make it infinite again.
        total = sum(w for _, w, _ in rows)
        super().take([(d, w / total, right) for d, w, right in rows])


class Slowing(Skipping):
    """Skips infinite numbers, and takes half a step in the next round."""

    def take(self, rows):
        before, slow = self.x, getattr(self, "slow", False)
        super().take(rows)
        self.x = before + (0.5 if slow else 1) * (self.x - before)
        self.slow = any(np.isinf(d).any() for d, *_ in rows)


class Masked(Server):
    """Averages each coordinate over the changes that are finite there."""

    def take(self, rows):
        D, w = np.array([d for d, _, _ in rows]), np.array([w for _, w, _ in rows], dtype=float)
        there = np.isfinite(D)
        self.x = self.x + self.eta * (w @ np.where(there, D, 0)) / (w @ there)


def offered(session, **faults):
    """A server that declares what it does."""
    declared = {kind.replace("_", "-"): treatment for kind, treatment in faults.items()}
    return Subject(session, Offer("fedavg", "server", "mcmahan-2017", dtypes=("float64",), faults=declared))


class FirstBlock(Skipping):
    """Looks for NaN in the first block alone."""

    def right(self, m):
        return bool(np.isfinite(next(iter(m.delta.values()))).all())


class OneAlone(Skipping):
    """Skips one message that isn't right, and takes the next one."""

    def take(self, rows):
        wrong = [k for k, (_, _, right) in enumerate(rows) if not right][:1]
        Server.take(self, [row for k, row in enumerate(rows) if k not in wrong])


class FromTheSecond(Skipping):
    """Takes everything in the first round."""

    def take(self, rows):
        (Server if self.rounds == 1 else Skipping).take(self, rows)


class BlockByBlock(Server):
    """Ends a round at the first block with a number that isn't finite, when it has moved those before it."""

    def take(self, rows):
        w, begin = np.array([w for _, w, _ in rows], dtype=float), 0
        mean = w @ np.array([d for d, _, _ in rows]) / w.sum()
        for a in self.like.values():
            block = slice(begin, begin := begin + a.size)
            if not np.isfinite(mean[block]).all():
                return
            self.x[block] += self.eta * mean[block]


class LastGood(Server):
    """Takes the last message of a client that was right in the place of one that isn't."""

    def sent(self, messages):
        finite = {m.client: m for m in messages if np.isfinite(self.change(m)).all()}
        self.last = {**getattr(self, "last", {}), **finite}
        return [self.last[m.client] for m in messages if m.client in self.last]


CHANGES = {kind: "skips-divisor-kept" for kind in ("nan", "infinite", "shape", "stale")}
WEIGHTS = dict.fromkeys(("no-weight", "nan-weight", "negative-weight", "no-examples"), "counts-as-one")
PASSED = {kind: "passes-on" for kind in KINDS if kind not in ("no-weight", "no-message")}
STRICT = {kind: "raises" for kind in KINDS if kind != "twice"}

skipping, keeping = offered(Skipping, **SKIPPING), offered(Keeping, **CHANGES)
ones, passing, strict = offered(Ones, **WEIGHTS), offered(Server, **PASSED), offered(Strict, **STRICT)
zeroing = offered(Zeroing, nan="zeroes", infinite="zeroes")
dropping = offered(
    Dropping, **{kind: "drops-round" for kind in KINDS if not kind.startswith("no-") and kind != "twice"}
)
one_alone, from_the_second = offered(OneAlone, nan="skips"), offered(FromTheSecond, infinite="skips")
undeclared = offered(Skipping)
says_skips, says_keeps = offered(Server, nan="skips"), offered(Skipping, nan="skips-divisor-kept")
says_raises = offered(Keeping, infinite="raises")
twice, stale = offered(Server, twice="skips"), offered(Server, stale="skips")
zeroes, drops = offered(Zeroing, nan="skips"), offered(Dropping, nan_weight="skips")
cleaning = offered(Cleaning, infinite="zeroes")
barring, slowing = offered(Barring, infinite="skips"), offered(Slowing, infinite="skips")
block_by_block, last_good = offered(BlockByBlock, nan="drops-round"), offered(LastGood, nan="skips")
masked, halving = offered(Masked, nan="skips"), offered(Halving, stale="skips")
late, clipping = offered(Late, nan="passes-on"), offered(Clipping, nan="skips")
negative, missing = offered(Ones, negative_weight="passes-on"), offered(Skipping, no_weight="counts-as-one")
first_block = offered(FirstBlock, nan="skips")
spread, empty = offered(Server, shape="raises"), offered(Skipping, no_examples="passes-on")
unknown, unmeant = offered(Server, nans="skips"), offered(Server, nan="counts-as-one")
