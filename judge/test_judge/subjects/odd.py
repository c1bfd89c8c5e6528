"""Subjects whose offers say something unusual; the implementations behind them are right."""

from __future__ import annotations

from right import DOUBLE, MCMAHAN, REDDI, Adam, FedAdam, FedAvg, FlatMomentum, ProximalSGD, Subject

from fedspec.contract import Offer, SubjectInfo


def average(level="server", reading=MCMAHAN, *more, algorithm="fedavg", **offer):
    return Subject(FedAvg, Offer(algorithm, level, reading, *more, **{"dtypes": DOUBLE, **offer}))


def adaptive(**offer):
    return Subject(FedAdam, Offer("fedadam", "server", REDDI, **{"dtypes": DOUBLE, **offer}))


# What the catalogue does not have, or a record does not take.
algorithm = average(algorithm="fedbest")
level = average("planet")
wrong_level = average("client")
reading = average(reading="konecny-2016")
option = average("server", MCMAHAN, {"colour": "red"})
option_value = average("server", MCMAHAN, {"weights": "heavy"})
contradiction = adaptive(options={"epsilon": "inside"})
intermediate = average(intermediates=("m",))
fixed = adaptive(fixed={"temperature": 1.0})
fixed_negative = adaptive(fixed={"tau": -1.0})
fixed_word = adaptive(fixed={"tau": "small"})
no_dtype = average(dtypes=())
strange_dtype = average(dtypes=("bfloat16",))
nonzero_unknown = adaptive(nonzero=("temperature",))
blocks_unknown = average(blocks="two")
no_offer = Subject(FedAvg)

# The comma that makes a tuple of one offer is missing; a version that is a number.
no_comma, numbered = average(), average()
no_comma.info = SubjectInfo("no comma", "1", offers=no_comma.info.offers[0])
numbered.info = SubjectInfo("numbered", 1.0, offers=numbered.info.offers)

# What makes the denominators smaller.
shows = adaptive(intermediates=("delta", "m", "v"))
silent = adaptive()
pinned = adaptive(fixed={"eta": 0.5, "beta1": 0.5, "v0": 1.0})
large_tau = adaptive(fixed={"tau": 2.0})
small_v0 = adaptive(fixed={"v0": 0.0, "tau": 0.125})
nonzero = adaptive(nonzero=("beta1",))
one_block = average(blocks="one")
no_eps = Subject(Adam, Offer("adam", "client", "kingma-2015", fixed={"eps": 0.0}, dtypes=DOUBLE))
rate_pinned = Subject(FlatMomentum, Offer("momentum", "client", "fednova", fixed={"eta_l": 0.1}, dtypes=DOUBLE))
mu_pinned = Subject(ProximalSGD, Offer("proximal-sgd", "client", "fednova", fixed={"mu": 0.5}, dtypes=DOUBLE))


def no_info():
    return object()


def explodes():
    raise RuntimeError("no licence")


class NoZero(ProximalSGD):
    """Refuses a zero that the algorithm allows."""

    def __init__(self, case):
        if not case.hyper["mu"]:
            raise ValueError("mu must be positive")
        super().__init__(case)


no_zero = Subject(NoZero, Offer("proximal-sgd", "client", "fednova", dtypes=DOUBLE))
