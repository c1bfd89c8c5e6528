"""Implementations that are saved and restored: some keep all that they hold, and each of the others loses something."""

from __future__ import annotations

import io
import pickle
from dataclasses import replace

import numpy as np
from right import Adam, FedAdam, FedAMSGrad, Subject, named

from fedspec.contract import Begin, Offer
from fedspec.reference import SUBJECT


def keeping(session, drop=(), saved=lambda held, self: held, restored=lambda self: None):
    """A session that pickles its arrays and numbers, except for some; ``saved`` and ``restored`` spoil them."""

    class Kept(session):
        def save(self):
            held = {n: v for n, v in vars(self).items() if isinstance(v, np.ndarray | int) and n not in drop}
            return pickle.dumps(saved(held, self))

        def restore(self, given):
            vars(self).update(pickle.loads(given))
            restored(self)

    Kept.__name__ = session.__name__
    return Kept


def server(session, name="fedadam", reading="reddi-2021", shows=("m", "v"), **spoilt):
    """A server's offer that says ``resumes``."""
    offer = Offer(name, "server", reading, intermediates=shows, dtypes=("float64",), resumes=True)
    return Subject(keeping(session, **spoilt), offer)


def client(session=Adam, **spoilt):
    """Adam's offer at level client."""
    offer = Offer("adam", "client", "kingma-2015", intermediates=("m", "v"), dtypes=("float64",), resumes=True)
    return Subject(keeping(session, **spoilt), offer)


class Rounds(Adam):
    """Counts its rounds, too."""

    rounds = 1

    def step(self, event):
        self.rounds += isinstance(event, Begin)
        return super().step(event)


class Stale(FedAdam):
    """Writes the first moment before the round's step is taken."""

    def step(self, event):
        self.old = self.m
        return super().step(event)


class First(FedAdam):
    """Copies the first moment once, after its first round."""

    first = None

    def step(self, event):
        shown = super().step(event)
        self.first = self.m if self.first is None else self.first
        return shown


class Counting(Adam):
    """Counts all its events."""

    events = 0

    def step(self, event):
        self.events += 1
        return super().step(event)


def by_name(*names):
    """Vectors that are saved in the order of their blocks' names, and read as they lie."""

    def saved(held, self):
        def moved(v):
            blocks = named(v, self.like)
            return np.concatenate([blocks[n].ravel() for n in sorted(blocks)])

        return {**held, **{n: moved(held[n]) for n in names}}

    return saved


class Loud(FedAdam):
    """Scales its moment when it is saved, and scales it back: the last bits change."""

    def save(self):
        self.m = self.m * (1 + 2**-50)
        return pickle.dumps({"m": self.m, "v": self.v, "x": self.x})

    def restore(self, saved):
        vars(self).update(pickle.loads(saved))


right = server(FedAdam)
right_client = client()
no_m = server(FedAdam, drop=("m",))
rounds_for_steps = client(Rounds, saved=lambda held, self: {**held, "t": self.rounds})
no_moments = server(FedAdam, drop=("m", "v"))
no_maximum = server(FedAMSGrad, "fedamsgrad", "afga", ("m", "v", "v_hat"), drop=("v_hat",))
zero_v = server(FedAdam, saved=lambda held, self: {**held, "v": 0 * held["v"]})
stale = server(Stale, saved=lambda held, self: {**held, "m": self.old})
narrow = server(FedAdam, saved=lambda held, self: {**held, "v": held["v"].astype("float32").astype("float64")})
scaled = server(FedAdam, saved=lambda held, self: {**held, "v": held["v"] * (1 + 2**-52)})
mixed = server(FedAdam, saved=lambda held, self: {**held, "v": held["m"] ** 2})
rooted = server(FedAdam, saved=lambda held, self: {**held, "v": held["v"] ** 0.5})
halved = server(FedAdam, saved=lambda held, self: {**held, "m": held["m"] / 2})
sorted_state = server(FedAdam, saved=by_name("x", "m", "v"))
sorted_moment = server(FedAdam, saved=by_name("m"))
first_moment = server(First, saved=lambda held, self: {**held, "m": self.first})
events_for_t = client(Counting, saved=lambda held, self: {**held, "t": self.events})
two_at_once = server(FedAdam, saved=lambda held, self: {**held, "m": 1.3 * held["m"], "v": 0.7 * held["v"]})
loud = Subject(Loud, replace(right.info.offers[0]))
turned = server(FedAdam, saved=lambda held, self: {**held, "m": -held["m"]})
text = server(FedAdam, saved=lambda held, self: {**held, "m": "lost"})
no_begun = client(saved=lambda held, self: held if self.t else {})
no_count = client(drop=("k", "t"))
silent = Subject(FedAdam, right.info.offers[0])

_KEPT = {}


class Global(FedAdam):
    """Keeps its moments in the module, where a new process doesn't find them."""

    def save(self):
        _KEPT["now"] = self.m, self.v
        return self.x.tobytes()

    def restore(self, saved):
        self.x = np.frombuffer(saved, self.x.dtype)
        self.m, self.v = _KEPT.get("now", (self.m, self.v))


module = Subject(Global, right.info.offers[0])


class Losing:
    """The specification's session, some fields of whose state a restore spoils, by what was noted of events if any."""

    def __init__(self, case, spoil, note):
        self.inner, self.fresh, self.spoil, self.note = SUBJECT.start(case), SUBJECT.start(case), spoil, note
        self.noted = None

    def step(self, event):
        answer = self.inner.step(event)
        self.noted = self.note and self.note(self.noted, event, answer)
        return answer

    def save(self):
        return pickle.dumps((self.noted, self.inner.save()))

    def restore(self, saved):
        self.noted, inner = pickle.loads(saved)
        self.inner.restore(inner)
        state = self.inner.state
        more = (self.noted,) if self.note else ()
        self.inner.state = replace(state, **self.spoil(state, self.fresh.state, *more))


def of_the_last_round(now, first, there):
    """Memory of clients, saved only for those of the last round."""
    out = [i not in there for i in range(len(now.m_i))]
    rows = {n: np.where(np.array(out)[:, None], getattr(first, n), getattr(now, n)) for n in ("m_i", "v_i")}
    t = [0 if lost else k for lost, k in zip(out, now.t, strict=True)]
    return {**rows, "t": type(now.t)(t) if isinstance(now.t, tuple) else np.array(t)}


def in_order(now, first, order):
    """Memory of clients, saved as a list without the clients' numbers."""
    kept = {n: [*getattr(first, n)] for n in ("m_i", "v_i", "t")}
    for n, rows in kept.items():
        rows[: len(order)] = [getattr(now, n)[i] for i in order]
    order[:] = range(len(order))
    return {"m_i": np.array(kept["m_i"]), "v_i": np.array(kept["v_i"]), "t": tuple(kept["t"])}


class Program:
    """A row of the specification at level round or trace, spoilt."""

    def __init__(self, name, level, spoil, note=None):
        found = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (name, level))
        self.info = replace(SUBJECT.info, name=name, claims=(replace(found, resumes=True, dtypes=("float64",)),))
        self.spoil, self.note = spoil, note

    def start(self, case):
        return Losing(case, self.spoil, self.note)


scaffold = Program("scaffold", "round", lambda now, first: {"c_i": first.c_i})
as_text = Program("scaffold", "round", lambda now, first: {"c_i": now.c_i[sorted(range(len(now.c_i)), key=str)]})
outer = Program("diloco", "round", lambda now, first: {"v": first.v})
inner_moments = Program("diloco", "round", lambda now, first: {"m_i": first.m_i, "v_i": first.v_i})
inner_count = Program("diloco", "round", lambda now, first: {"t": first.t})
replicas = Program("dsgd", "trace", lambda now, first: {"X": now.X[:1] + 0 * now.X})
absent = Program("diloco", "round", of_the_last_round, lambda there, event, answer: event.participants)
one_count = Program("diloco", "round", lambda now, first: {"t": (max(now.t),) * len(now.t)})
by_place = Program(
    "diloco", "round", in_order, lambda met, e, answer: [*dict.fromkeys([*(met or ()), *e.participants])]
)
last_change = Program("diloco", "round", lambda *given: {"v": given[-1]}, lambda delta, event, answer: answer["delta"])
seen_mean = Program("scaffold", "round", lambda now, first: {"c": now.c_i[now.c_i.any(axis=1)].mean(axis=0)})
rejoined = Program("scaffold", "round", lambda now, first: {"c_i": 0 * now.c_i + now.c})
half_model = Program("scaffold", "round", lambda now, first: {"x": now.x.astype("float16").astype("float64")})
half_state = Program(
    "diloco", "round", lambda now, first: {n: np.float64(np.float32(getattr(now, n))) for n in ("x", "v", "m_i", "v_i")}
)
diloco_whole = Program("diloco", "round", lambda now, first: {})


def torch_adamw():
    """AdamW of PyTorch whose moments a restore drops.

    External: https://github.com/KempnerInstitute/KempnerForge/pull/115, where a fresh optimizer has no moments yet, so
    that the loader has nothing to load them into.
    """
    import torch

    from fedspec_suite.subjects.torch_optim import adapter
    from fedspec_suite.subjects.torch_optimizers import ResumedSession, Stepping

    class Dropping(ResumedSession):
        def restore(self, saved):
            read = torch.load(io.BytesIO(saved))
            with torch.no_grad():
                for name, p in self.params.items():
                    p.copy_(read["model"][name])
            there = self.optimizer.state_dict()["state"]
            kept = {k: v for k, v in read["optimizer"]["state"].items() if k in there}
            self.optimizer.load_state_dict({**read["optimizer"], "state": kept})

    class Wrong(Stepping):
        def start(self, case):
            return Dropping(case, self.driven[0])

    return Wrong("dropping", "torch", [d for d in adapter.DRIVEN if d.offer.algorithm == "adam"])
