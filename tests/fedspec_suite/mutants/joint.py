"""Mutants of the algorithms that adapt on both sides: who is averaged, what is sent, what is carried on."""

from __future__ import annotations

from collections.abc import Iterator

from fedspec_suite.mutants.mutant import Mutant

_A = "fedspec.algorithms."
_SERVER = _A + "server_update.server_update"
_PAIRS = ("fedada2", "joint-local", "joint-direct")
_WEIGHTED = ("fedadaadagrad", "fedadaadam", "fedblended")
_MEAN = "weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))"
_EACH = "each(client, clients, plan, state.x)"
_PLAN = "type(plan)(**{**vars(plan), "

_ADAGRAD = """y = begin_adagrad(x)
        for k in range(tau):
            y = agdu(y, gradient(k, y.x), eta_l=h.eta_l, eps=h.eps)
"""
_DELAYED_ADAGRAD = """y = begin(x, v0=h.v0_l)
        for k in range(tau):
            y = agdu(y, gradient(k, y.x), eta_l=h.eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s)
"""
_ADAM = """y = begin(x, v0=h.v0_l, m0=h.m0_l)
        for k in range(tau):
            g = gradient(k, y.x)
            y = admu(y, g, **own, eta_l=h.eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s)
"""
_SM3 = """y = begin_adagrad(x, S, v0=h.v0_l)
        for k in range(tau):
            g = gradient(k, y.x)
            y = sm3_ii_delayed(y, g, S, **more, idle=h.idle)
"""


def _step(algorithm: str) -> str:
    """The round of an algorithm."""
    return f"{_A}{algorithm.replace('-', '_')}.step"


def _boxes(slug: str, words: str, old: str, new: str, algorithms: tuple[str, ...], **options: str) -> Iterator[Mutant]:
    """The same edit in the box of each algorithm; the first one has the plain id."""
    for algorithm in algorithms:
        yield Mutant(
            id=f"joint-{slug}" + (f"-{algorithm}" if algorithm != algorithms[0] else ""),
            words=words,
            algorithms=(algorithm,),
            rule=_step(algorithm),
            old=old,
            new=new,
            options=options,
        )


MUTANTS = (
    *(
        Mutant(
            id=f"scaled-{slug}",
            words=words,
            algorithms=_WEIGHTED,
            rule="fedspec.mixing.scaled.scaled",
            old="scale * delta",
            new=new,
        )
        for slug, words, new in (
            ("ignored", "the weights Xi_i are ignored", "delta"),
            ("divides", "the weights Xi_i divide", "delta / scale"),
            ("squared", "the weights Xi_i enter twice", "scale * scale * delta"),
        )
    ),
    Mutant(
        id="joint-weights-normalised",
        words="the weighted changes are divided by the sum of their weights instead of their number",
        algorithms=_WEIGHTED,
        rule=_SERVER,
        old=_MEAN,
        new=_MEAN + " * (len(deltas) / sum(plan.scales) if plan.scales else 1)",
    ),
    *(
        Mutant(id=f"joint-{slug}", words=words, algorithms=names, rule=_SERVER, old=_MEAN, new=new)
        for slug, words, names, new in (
            (
                "by-examples",
                "the mean weighs by examples",
                (*_PAIRS, *_WEIGHTED),
                "weighted_mean(deltas, shares(plan.examples, state.x))",
            ),
            (
                "drawn-twice-counts-once",
                "a client that is drawn twice counts once",
                ("fedada2", "fedadaadagrad"),
                "weighted_mean(deltas, "
                "shares([int(plan.participants.index(i) == p) for p, i in enumerate(plan.participants)], state.x))",
            ),
            ("sum", "a sum over the participants instead of their mean", _PAIRS, "sum(deltas)"),
            ("uphill", "the server takes the mean for a gradient and reverses it", _PAIRS, f"-{_MEAN}"),
        )
    ),
    Mutant(
        id="joint-servers-exchanged",
        words="the server's AdaGrad and Adam are exchanged",
        algorithms=_PAIRS,
        rule=_SERVER,
        old="if server is Adaptivity.ADAM:",
        new="beta2 = beta2 or 0\n    if server is Adaptivity.ADAGRAD:",
    ),
    *(
        mutant
        for slug, words, new in (
            (
                "first-client",
                "everybody trains on the data of the first participant",
                _EACH.replace("clients,", "[clients[plan.participants[0]]] * len(clients),"),
            ),
            (
                "longest-work",
                "everybody takes as many steps as the one who takes most",
                _EACH.replace("plan,", _PLAN + "'steps': (max(plan.steps),) * len(plan.steps)}),"),
            ),
            ("sign", "the changes point uphill", f"-{_EACH}"),
        )
        for mutant in _boxes(slug, words, _EACH, new, (*_PAIRS, *_WEIGHTED))
    ),
    *(
        Mutant(
            id=f"joint-direct-{slug}",
            words=words,
            algorithms=("joint-direct",),
            rule=_step("joint-direct"),
            old="sent = state.v\n",
            new=f"sent = {new}\n",
        )
        for slug, words, new in (
            ("nothing-sent", "the server's second moment is not sent", "0 * state.v"),
            ("root-sent", "the root of the server's second moment is sent", "sqrt(state.v)"),
            ("momentum-sent", "the square of the server's momentum is sent", "state.m**2"),
        )
    ),
    Mutant(
        id="joint-direct-both-moments",
        words="the clients' momentum starts at what the server sent, too",
        algorithms=("joint-direct",),
        rule=_step("joint-direct"),
        old="m=zeros(x), v=v_0",
        new="m=v_0, v=v_0",
        options={"client": "adam", "received": "corrected"},
    ),
    *(
        Mutant(
            id=f"received-{slug}",
            words=words,
            algorithms=("joint-direct",),
            rule=f"fedspec.client.received.{function}",
            old=old,
            new=new,
            options={"client": "adam", "received": received},
        )
        for slug, words, received, function, old, new in (
            (
                "start-undecayed",
                "v_0 is taken out of v_hat as if it had not decayed",
                "without-start",
                "second_moment",
                "beta2**t * v_0",
                "v_0",
            ),
            (
                "start-uncorrected",
                "v_0 is taken out of v_hat, which is not corrected then",
                "without-start",
                "second_moment",
                "(v - beta2**t * v_0) / (1 - beta2**t)",
                "v - beta2**t * v_0",
            ),
            (
                "m-by-beta2",
                "m is corrected by the decay of v",
                "m-corrected",
                "received_adam",
                "(1 - beta1**t)",
                "(1 - beta2**t)",
            ),
        )
    ),
    *_boxes(
        "decays-of-the-server",
        "the clients use the server's decays",
        "beta1=h.beta1_l, beta2=h.beta2_l",
        "beta1=h.beta1, beta2=h.beta2 or h.beta2_l",
        _PAIRS,
        client="adam",
    ),
    *_boxes(
        "stabiliser-of-the-server",
        "the clients use the server's tau for eps",
        "eta_l=h.eta_l, eps=h.eps",
        "eta_l=h.eta_l, eps=h.tau",
        (*_PAIRS, "fedadaadagrad", "fedadaadam"),
    ),
    Mutant(
        id="joint-stabiliser-of-the-server-fedblended",
        words="the clients use the server's tau for eps",
        algorithms=("fedblended",),
        rule=_step("fedblended"),
        old='"eps": h.eps',
        new='"eps": h.tau',
    ),
    Mutant(
        id="joint-delay-lost",
        words="delay and dead zone do not reach the clients",
        algorithms=("fedada2",),
        rule=_step("fedada2"),
        old="eta_l=h.eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s",
        new="eta_l=h.eta_l, eps=h.eps",
    ),
    *(
        Mutant(
            id=f"joint-delay-lost-{algorithm}",
            words="delay and dead zone do not reach the clients",
            algorithms=(algorithm,),
            rule=_step(algorithm),
            old="eta_l=h.eta_l, eps=h.eps, z=h.z, epoch=h.epoch, eps_s=h.eps_s",
            new="eta_l=h.eta_l, eps=h.eps",
        )
        for algorithm in ("fedadaadagrad", "fedadaadam")
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
        rule=_step("fedada2"),
        old="S = state.cover",
        new="S = type(state.cover)(tuple((j,) for j in range(len(state.x))), len(state.x))",
    ),
    Mutant(
        id="fedada2-blocks-reversed",
        words="the cover takes the blocks of the model in the wrong order",
        algorithms=("fedada2",),
        rule=_A + "fedada2.init",
        old="covered(x, setup,",
        new="covered(x, type(setup)(setup.examples, dict(reversed(setup.shapes.items()))),",
    ),
    *(
        Mutant(
            id=f"joint-carried-{slug}",
            words=f"the clients' {what} outlives the round",
            algorithms=(algorithm,),
            rule=_step(algorithm),
            old=old,
            new=old.replace(fresh, f"type({fresh})({kept})") + f"        step.kept = {keep}\n",
            leaks="session",
        )
        for slug, what, algorithm, old, fresh, kept, keep in (
            (
                "adagrad",
                "AdaGrad",
                "joint-local",
                _ADAGRAD,
                "begin_adagrad(x)",
                "x, getattr(step, 'kept', begin_adagrad(x).v), 0",
                "y.v",
            ),
            (
                "adagrad-fedadaadagrad",
                "AdaGrad",
                "fedadaadagrad",
                _DELAYED_ADAGRAD,
                "begin(x, v0=h.v0_l)",
                "x, getattr(step, 'kept', begin(x, v0=h.v0_l).v), 0",
                "y.v",
            ),
            (
                "adam",
                "momentum",
                "fedadaadam",
                _ADAM,
                "begin(x, v0=h.v0_l, m0=h.m0_l)",
                "x, getattr(step, 'kept', begin(x, m0=h.m0_l).m), begin(x, v0=h.v0_l).v, begin(x).v_hat, 0",
                "y.m",
            ),
            (
                "sm3",
                "SM3",
                "fedada2",
                _SM3,
                "begin_adagrad(x, S, v0=h.v0_l)",
                "x, *getattr(step, 'kept', (begin_adagrad(x, S, v0=h.v0_l).mu, begin_adagrad(x, S).nu)), 0",
                "y.mu, y.nu",
            ),
        )
    ),
    *(
        Mutant(
            id=f"fedblended-{slug}",
            words=words,
            algorithms=("fedblended",),
            rule=_step("fedblended"),
            old=old,
            new=new,
        )
        for slug, words, old, new in (
            (
                "strategies-reversed",
                "the strategies go to the wrong clients",
                _EACH,
                _EACH.replace("plan,", _PLAN + "'strategies': plan.strategies[::-1]}),"),
            ),
            (
                "one-strategy",
                "everybody uses the first strategy",
                "Strategy(strategy)",
                "Strategy(plan.strategies[0])",
            ),
        )
    ),
    *(
        Mutant(
            id=f"fedblended-sgd-{slug}",
            words=words,
            algorithms=("fedblended",),
            rule=_A + "fedblended.optimize",
            old="unless_short(g, g, eps_s)",
            new=new,
        )
        for slug, words, new in (
            ("no-dead-zone", "clients with SGD have no dead zone", "g"),
            (
                "dead-zone-late",
                "clients with SGD measure eta_l g in the dead zone",
                "unless_short(g, eta_l * g, eps_s)",
            ),
        )
    ),
)
