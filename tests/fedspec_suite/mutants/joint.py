"""Mutants of the algorithms that adapt on both sides: who is averaged, what is sent, what is carried on."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_J, _O = "fedspec.algorithms.joint.", "fedspec.algorithms.optimise."
_PAIRS = ("joint-local", "joint-direct", "fedada2")
_WEIGHTED = ("fedadaadagrad", "fedadaadam", "fedblended")
_ALIKE = ("fedada2", "joint-local", "fedadaadagrad", "fedadaadam")
_DELAYED = ("fedadaadagrad", "fedada2", "fedadaadam")
_MEAN = "weighted_mean(np.stack(deltas), shares([1] * len(deltas), state.x))"
_TRAINED = "optimise(strategy, own, state.x, clients[i], tau, state.cover) - state.x"

_AGDU = """agdu_state = Agdu(x=x, v=v, t=0)
        for k in range(tau):
            agdu_state = agdu(agdu_state, gradient(k, agdu_state.x), **h.of(agdu))
"""
_ADMU = """state = Admu(x=x, m=zeros(x), v=v, v_hat=zeros(x), t=0)
    for k in range(tau):
        state = admu(state, gradient(k, state.x), **h.of(admu))
"""
_SM3 = """sm3 = begin_sm3(x, cover)
        for k in range(tau):
            sm3 = sm3_ii_delayed(sm3, gradient(k, sm3.x), cover, **h.of(sm3_ii_delayed))
"""

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
        rule=_J + "finish",
        old=_MEAN,
        new=_MEAN + " * (len(deltas) / sum(plan.scales) if plan.scales else 1)",
    ),
    *(
        Mutant(id=f"joint-{slug}", words=words, algorithms=names, rule=_J + "finish", old=_MEAN, new=new)
        for slug, words, names, new in (
            (
                "by-examples",
                "the mean weighs by examples",
                (*_PAIRS, *_WEIGHTED),
                "weighted_mean(np.stack(deltas), shares(plan.examples, state.x))",
            ),
            (
                "drawn-twice-counts-once",
                "a client that is drawn twice counts once",
                ("fedada2", "fedadaadagrad"),
                "weighted_mean(np.stack(deltas), "
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
        rule=_J + "finish",
        old="is Adaptivity.ADAM",
        new="is Adaptivity.ADAGRAD",
    ),
    *(
        Mutant(id=f"joint-{slug}", words=words, algorithms=_ALIKE, rule=_J + "alike", old=_TRAINED, new=new)
        for slug, words, new in (
            (
                "first-client",
                "everybody trains on the data of the first participant",
                _TRAINED.replace("clients[i]", "clients[plan.participants[0]]"),
            ),
            (
                "longest-work",
                "everybody takes as many steps as the one who takes most",
                _TRAINED.replace("tau,", "max(plan.steps),"),
            ),
            ("sign", "the changes point uphill", "state.x - " + _TRAINED.removesuffix(" - state.x")),
        )
    ),
    *(
        Mutant(
            id=f"joint-direct-{slug}",
            words=words,
            algorithms=("joint-direct",),
            rule=_J + "joint_direct",
            old="state.x, state.server.v\n",
            new=f"state.x, {new}\n",
        )
        for slug, words, new in (
            ("nothing-sent", "the server's second moment is not sent", "0 * state.server.v"),
            ("root-sent", "the root of the server's second moment is sent", "sqrt(state.server.v)"),
            ("momentum-sent", "the square of the server's momentum is sent", "state.server.m**2"),
        )
    ),
    Mutant(
        id="joint-direct-both-moments",
        words="the clients' momentum starts at what the server sent, too",
        algorithms=("joint-direct",),
        rule=_O + "optimise_from",
        old="Admu(x=x, m=zeros(x), v=v,",
        new="Admu(x=x, m=v, v=v,",
        options={"client": "adam", "received": "corrected"},
    ),
    Mutant(
        id="joint-decays-of-the-server",
        words="the clients use the server's decays",
        algorithms=_PAIRS,
        rule=_J + "local",
        old='getattr(h, f"{n}_l") for',
        new="getattr(h, n) for",
        options={"client": "adam"},
    ),
    Mutant(
        id="joint-stabiliser-of-the-server",
        words="the clients use the server's tau for eps",
        algorithms=(*_PAIRS, *_WEIGHTED),
        rule=_J + "local",
        old="eps=h.eps",
        new="eps=h.tau",
    ),
    Mutant(
        id="joint-delay-lost",
        words="delay and dead zone do not reach the clients",
        algorithms=_DELAYED,
        rule=_J + "local",
        old='("z", "eps_s", "dead_zone", "idle")',
        new='("dead_zone", "idle")',
    ),
    Mutant(
        id="joint-dead-zone-cap",
        words="the dead zone is a cap: steps longer than eps_s are shortened to it",
        algorithms=_DELAYED,
        rule="fedspec.client.delay.unless_short",
        old="where_less((u * u).sum(), eps_s**2, y * 0, y)",
        new="where_less(0, eps_s, minimum(1, ratio(eps_s, norm(u))), 1) * y",
    ),
    Mutant(
        id="fedada2-uncompressed",
        words="the clients keep the whole preconditioner",
        algorithms=("fedada2",),
        rule=_J + "fedada2",
        old='f"sm3-{h.client}"',
        new="h.client",
    ),
    Mutant(
        id="fedada2-blocks-reversed",
        words="the cover takes the blocks of the model in the wrong order",
        algorithms=("fedada2",),
        rule=_J + "init",
        old="setup.shapes)",
        new="dict(reversed(setup.shapes.items())))",
    ),
    *(
        Mutant(
            id=f"joint-carried-{slug}",
            words=f"the clients' {what} outlives the round",
            algorithms=names,
            rule=_O + function,
            old=old,
            new=old.replace(before, after) + ("    " * deep + f"{function}.kept = {kept}\n"),
            leaks="session",
        )
        for slug, what, names, function, old, before, after, deep, kept in (
            (
                "adagrad",
                "AdaGrad",
                ("joint-local", "fedadaadagrad"),
                "optimise_from",
                _AGDU,
                "v=v, t=0",
                "v=getattr(optimise_from, 'kept', v), t=0",
                2,
                "agdu_state.v",
            ),
            (
                "adam",
                "momentum",
                ("fedadaadam",),
                "optimise_from",
                _ADMU,
                "m=zeros(x),",
                "m=getattr(optimise_from, 'kept', zeros(x)),",
                1,
                "state.m",
            ),
            (
                "sm3",
                "SM3",
                ("fedada2",),
                "optimise",
                _SM3,
                "begin_sm3(x, cover)",
                "type(begin_sm3(x, cover))(x, *getattr(optimise, 'kept', (begin_sm3(x, cover).mu, zeros(x))), 0)",
                2,
                "sm3.mu, sm3.nu",
            ),
        )
    ),
    *(
        Mutant(
            id=f"fedblended-{slug}", words=words, algorithms=("fedblended",), rule=_J + "fedblended", old=old, new=new
        )
        for slug, words, old, new in (
            (
                "strategies-reversed",
                "the strategies go to the wrong clients",
                "tau, name in zip(plan.participants, plan.steps, plan.strategies,",
                "tau, name in zip(plan.participants, plan.steps, plan.strategies[::-1],",
            ),
            (
                "one-strategy",
                "everybody uses the first strategy",
                'choice(Strategy, "strategies", name)',
                'choice(Strategy, "strategies", plan.strategies[0])',
            ),
        )
    ),
    *(
        Mutant(
            id=f"fedblended-sgd-{slug}",
            words=words,
            algorithms=("fedblended",),
            rule=_O + "_sgd",
            old="unless_short(g, g, h.eps_s)",
            new=new,
        )
        for slug, words, new in (
            ("no-dead-zone", "clients with SGD have no dead zone", "g"),
            (
                "dead-zone-late",
                "clients with SGD measure eta_l g in the dead zone",
                "unless_short(g, h.eta_l * g, h.eps_s)",
            ),
        )
    ),
)
