"""Right FedAdam (level server) and momentum (level client), whose adapters answer in a wrong way."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from right import DOUBLE, REDDI, Adam, FedAdam, Momentum, Subject

from fedspec.contract import Offer, SubjectInfo
from fedspec.reference import SUBJECT


def each(change):
    return lambda self, x: {"x": {n: change(a) for n, a in x.items()}}


def raising_in(level, event):
    """Follow the rule and raise an exception in that event, counted from 1; in 0, when the session starts."""
    algorithm = {"server": "fedavg", "client": "momentum", "trace": "fedasync"}[level]
    offer = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (algorithm, level))

    def start(case):
        inner, count = SUBJECT.start(case), iter(range(1, 100))

        def step(e):
            if next(count) == event:
                raise RuntimeError("enough")
            return inner.step(e)

        return SimpleNamespace(step=step) if event else {}["no session"]

    return SimpleNamespace(info=SubjectInfo("raising", "1", (offer,)), start=start)


def first_only(self, x):
    return {"x": dict(list(x.items())[:1])}


ANSWERS = {
    "flattened": each(np.ravel),
    "transposed": each(np.transpose),
    "missing": first_only,
    "integers": each(lambda a: a.astype(int)),
    "nan": each(lambda a: a * np.nan),
    "none": lambda self, x: {"x": None},
    "none_inside": each(lambda a: None),
    "no_x": lambda self, x: {"model": x},
}


def answering(session, answer):
    """The session with another answer."""

    def step(self, event):
        return answer(self, session.step(self, event)["x"])

    return type(session.__name__, (session,), {"step": step})


def leaking(session, name, method):
    """The session whose buffer of that name belongs to all sessions."""
    shared = {}

    def step(self, given):
        setattr(self, name, shared.get("buffer", getattr(self, name)))
        shown = getattr(session, method)(self, given)
        shared["buffer"] = getattr(self, name)
        return shown

    return type(session.__name__, (session,), {method: step})


def raises(self, x):
    return np.linalg.inv(np.zeros((2, 2)))


SERVER, CLIENT = Offer("fedadam", "server", REDDI, dtypes=DOUBLE), Offer("momentum", "client", "fednova", dtypes=DOUBLE)
for name, answer in ({**ANSWERS, "raises": raises}).items():
    globals()[f"{name}_server"] = Subject(answering(FedAdam, answer), SERVER)
    globals()[f"{name}_client"] = Subject(answering(Momentum, answer), CLIENT)
leaks_server = Subject(leaking(FedAdam, "m", "update"), SERVER)
leaks_client = Subject(leaking(Momentum, "u", "move"), CLIENT)


class FromZero(Adam):
    """Adam whose steps are counted from 0: its first correction divides 0 by 0."""

    def exponent(self):
        return self.t - 1

    def step(self, event):
        with np.errstate(all="ignore"):
            return super().step(event)


from_zero = Subject(FromZero, Offer("adam", "client", "kingma-2015", dtypes=DOUBLE))
hides_both = Subject(
    answering(FedAdam, lambda self, x: {"x": x}),
    Offer("fedadam", "server", REDDI, dtypes=DOUBLE, intermediates=("m", "v")),
)
