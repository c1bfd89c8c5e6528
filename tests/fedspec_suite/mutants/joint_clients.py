"""Mutants of the clients of the algorithms that adapt on both sides: what they are sent, begin with and carry on."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.joint import ALGORITHMS, EACH, PAIRS, PLAN, box, boxes
from fedspec_suite.mutants.mutant import Mutant

_ADAGRAD = """y = begin_adagrad(x)
        for k in range(tau):
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            y = held(y, agdu(y, gradient(k, y.x), eta_l=eta_l, eps=h.eps), k + 1, h.warm_up_from)
"""
_DELAYED_ADAGRAD = """y = begin(x, v0=h.v0_l)
        for k in range(tau):
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            after = agdu(y, gradient(k, y.x), eta_l=eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s)
            y = held(y, after, k + 1, h.warm_up_from)
"""
_ADAM = """y = begin(x, v0=h.v0_l, m0=h.m0_l)
        for k in range(tau):
            g = gradient(k, y.x)
            eta_l = warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)
            after = admu(y, g, **own, eta_l=eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s)
            y = held(y, after, k + 1, h.warm_up_from)
"""
_SM3 = """y = begin_adagrad(x, S, v0=h.v0_l)
        for k in range(tau):
            g = gradient(k, y.x)
            y = held(y, sm3_ii_delayed(y, g, S, **own(k), idle=h.idle), k + 1, h.warm_up_from)
"""


def _carried(*, slug: str, what: str, algorithm: str, old: str, fresh: str, kept: str, keep: str) -> Mutant:
    """A round whose clients begin with ``kept`` where they should with ``fresh``, and leave ``keep`` behind."""
    return Mutant(
        id=f"joint-carried-{slug}",
        words=f"the clients' {what} outlives the round",
        algorithms=(algorithm,),
        rule=box(algorithm),
        old=old,
        new=old.replace(fresh, f"type({fresh})({kept})") + f"        step.kept = {keep}\n",
        leaks="session",
    )


_direct = partial(Mutant, algorithms=("joint-direct",), rule=box("joint-direct"), old="sent = state.v\n")
_received = partial(Mutant, algorithms=("joint-direct",))

MUTANTS = (
    _direct(id="joint-direct-nothing-sent", words="the server's second moment is not sent", new="sent = 0 * state.v\n"),
    _direct(
        id="joint-direct-root-sent",
        words="the root of the server's second moment is sent",
        new="sent = sqrt(state.v)\n",
    ),
    _direct(
        id="joint-direct-momentum-sent", words="the square of the server's momentum is sent", new="sent = state.m**2\n"
    ),
    Mutant(
        id="joint-direct-both-moments",
        words="the clients' momentum starts at what the server sent, too",
        algorithms=("joint-direct",),
        rule=box("joint-direct"),
        old="m=zeros(x), v=v_0",
        new="m=v_0, v=v_0",
        options={"client": "adam", "received": "corrected"},
    ),
    _received(
        id="received-start-undecayed",
        words="v_0 is taken out of v_hat as if it had not decayed",
        rule="fedspec.client.received.second_moment",
        old="beta2**t * v_0",
        new="v_0",
        options={"client": "adam", "received": "without-start"},
    ),
    _received(
        id="received-start-uncorrected",
        words="v_0 is taken out of v_hat, which is not corrected then",
        rule="fedspec.client.received.second_moment",
        old="(v - beta2**t * v_0) / (1 - beta2**t)",
        new="v - beta2**t * v_0",
        options={"client": "adam", "received": "without-start"},
    ),
    _received(
        id="received-m-by-beta2",
        words="m is corrected by the decay of v",
        rule="fedspec.client.received.received_adam",
        old="(1 - beta1**t)",
        new="(1 - beta2**t)",
        options={"client": "adam", "received": "m-corrected"},
    ),
    *boxes(
        slug="decays-of-the-server",
        words="the clients use the server's decays",
        old="beta1=h.beta1_l, beta2=h.beta2_l",
        new="beta1=h.beta1, beta2=h.beta2 or h.beta2_l",
        algorithms=PAIRS,
        client="adam",
    ),
    *boxes(
        slug="stabiliser-of-the-server",
        words="the clients use the server's tau for eps",
        old="eta_l, eps=h.eps",
        new="eta_l, eps=h.tau",
        algorithms=(*PAIRS, "fedadaadagrad", "fedadaadam"),
    ),
    Mutant(
        id="joint-stabiliser-of-the-server-fedblended",
        words="the clients use the server's tau for eps",
        algorithms=("fedblended",),
        rule=box("fedblended"),
        old='"eps": h.eps',
        new='"eps": h.tau',
    ),
    *boxes(
        slug="delay-lost",
        words="delay and dead zone do not reach the clients",
        old="eta_l=eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s",
        new="eta_l=eta_l, eps=h.eps",
        algorithms=("fedada2", "fedadaadagrad", "fedadaadam"),
    ),
    Mutant(
        id="joint-dead-zone-cap",
        words="the dead zone is a cap: steps longer than eps_s are shortened to it",
        algorithms=("fedadaadagrad", "fedada2", "fedadaadam"),
        rule="fedspec.client.delay.unless_short",
        old="where_shorter(u, eps_s, y * 0, y)",
        new="where_less(0, eps_s, minimum(1, ratio(eps_s, norm(u))), 1) * y",
    ),
    Mutant(
        id="fedada2-uncompressed",
        words="the clients keep the whole preconditioner",
        algorithms=("fedada2",),
        rule=box("fedada2"),
        old="S = state.cover",
        new="S = type(state.cover)(tuple((j,) for j in range(len(state.x))), len(state.x))",
    ),
    Mutant(
        id="fedada2-blocks-reversed",
        words="the cover takes the blocks of the model in the wrong order",
        algorithms=("fedada2",),
        rule=ALGORITHMS + "fedada2.init",
        old="covered(x, setup,",
        new="covered(x, type(setup)(setup.examples, dict(reversed(setup.shapes.items()))),",
    ),
    _carried(
        slug="adagrad",
        what="AdaGrad",
        algorithm="joint-local",
        old=_ADAGRAD,
        fresh="begin_adagrad(x)",
        kept="x, getattr(step, 'kept', begin_adagrad(x).v), 0",
        keep="y.v",
    ),
    _carried(
        slug="adagrad-fedadaadagrad",
        what="AdaGrad",
        algorithm="fedadaadagrad",
        old=_DELAYED_ADAGRAD,
        fresh="begin(x, v0=h.v0_l)",
        kept="x, getattr(step, 'kept', begin(x, v0=h.v0_l).v), 0",
        keep="y.v",
    ),
    _carried(
        slug="adam",
        what="momentum",
        algorithm="fedadaadam",
        old=_ADAM,
        fresh="begin(x, v0=h.v0_l, m0=h.m0_l)",
        kept="x, getattr(step, 'kept', begin(x, m0=h.m0_l).m), begin(x, v0=h.v0_l).v, begin(x).v_hat, 0",
        keep="y.m",
    ),
    _carried(
        slug="sm3",
        what="SM3",
        algorithm="fedada2",
        old=_SM3,
        fresh="begin_adagrad(x, S, v0=h.v0_l)",
        kept="x, *getattr(step, 'kept', (begin_adagrad(x, S, v0=h.v0_l).mu, begin_adagrad(x, S).nu)), 0",
        keep="y.mu, y.nu",
    ),
    Mutant(
        id="fedblended-strategies-reversed",
        words="the strategies go to the wrong clients",
        algorithms=("fedblended",),
        rule=box("fedblended"),
        old=EACH,
        new=EACH.replace("plan,", PLAN + "'strategies': plan.strategies[::-1]}),"),
    ),
    Mutant(
        id="fedblended-one-strategy",
        words="everybody uses the first strategy",
        algorithms=("fedblended",),
        rule=box("fedblended"),
        old="Strategy(strategy)",
        new="Strategy(plan.strategies[0])",
    ),
    Mutant(
        id="fedblended-sgd-no-dead-zone",
        words="clients with SGD have no dead zone",
        algorithms=("fedblended",),
        rule=ALGORITHMS + "fedblended.optimize",
        old="unless_short(g, g, eps_s)",
        new="g",
    ),
    Mutant(
        id="fedblended-sgd-dead-zone-late",
        words="clients with SGD measure eta_l g in the dead zone",
        algorithms=("fedblended",),
        rule=ALGORITHMS + "fedblended.optimize",
        old="unless_short(g, g, eps_s)",
        new="unless_short(g, eta_l * g, eps_s)",
    ),
)
