"""Mutants of AFGA and its relatives, and of the algorithms without a server."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

SERVED = ("afga", "gossip-fedamsgrad", "afga-a", "cafga", "cafga-a")
WHOLE = ("afga", "gossip-fedamsgrad")
"""Those that run Algorithm 1, in which all clients mix."""

_AFGA = "fedspec.algorithms.afga."
_CAFGA = "fedspec.algorithms.cafga."
_PEERS = "fedspec.algorithms.peers."
_GOSSIP = "fedspec.mixing.gossip."
_DADAM = "fedspec.mixing.dadam."
_SERVER = "fedspec.server.amsgrad.general_amsgrad"

_TRACKED = {"denominators": "tracked"}
_HEARD = {"broadcast": "neighbours"}
_STEP = {"sampling": "step"}


_SGD = "X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))"
_SGD_PEERS = "X = sgd(X, gradients(clients, everyone, t, X), eta_l=h.eta_l)"
_MIX_PEERS = "X = global_mean(X) if t == last else gossip(X, W)"
_SGD_OF_ALL = "A = list({}); X = put(X, A, sgd(X[A], gradients(clients, A, t, X[A]), eta_l=h.eta_l))"


def _local(
    *, prefix: str, rule: str, algorithms: tuple[str, ...], who: str, exchange: str, everyone: str
) -> tuple[Mutant, ...]:
    """Mutants of a box in which all clients mix: those of the local steps; ``who`` says which clients compute."""
    at = "\n" + " " * (8 if rule.startswith(_AFGA) else 12)
    box = partial(Mutant, algorithms=algorithms, rule=rule)
    return (
        box(
            id=f"{prefix}-frozen",
            words="clients that do not compute keep their models instead of mixing",
            old=exchange,
            new=f"X = put(X, S, {exchange.removeprefix('X = ')}[S])",
        ),
        box(
            id=f"{prefix}-mix-first",
            words="mixing before the gradient step, so that the last one is not mixed",
            old=f"{_SGD}{at}{exchange}",
            new=f"{exchange}{at}{_SGD}",
        ),
        box(
            id=f"{prefix}-everyone",
            words="every client computes at every local step",
            old=f"S = {who}",
            new=f"S = {everyone}",
        ),
        Mutant(
            id=f"{prefix}-first-draw",
            words="no re-sampling: the first local step's clients compute at all of them",
            algorithms=(prefix,),
            rule=rule,
            old=f"S = {who}",
            new=f"S = {who.replace('S_t', 'plan.computing[0]')}",
        ),
    )


def _adapted(*, prefix: str, rule: str, algorithm: str, exchange: str, everyone: str, draw: str) -> tuple[Mutant, ...]:
    """Mutants of a box in which those who compute mix."""
    at = "\n" + " " * (8 if rule.startswith(_AFGA) else 12)
    box = partial(Mutant, algorithms=(algorithm,), rule=rule)
    return (
        box(id=f"{prefix}-unmixed", words="the selected clients do not mix", old=exchange, new="X[S]"),
        box(
            id=f"{prefix}-sorted",
            words="the rows of W follow the clients' numbers",
            old=_SGD,
            new=f"S = sorted(S){at}{_SGD}",
        ),
        box(
            id=f"{prefix}-mix-first",
            words="the selected clients mix before the gradient step",
            old=f"{_SGD}{at}X = put(X, S, {exchange})",
            new=f"X = put(X, S, {exchange}){at}{_SGD}",
        ),
        box(
            id=f"{prefix}-first-draw",
            words="the first local step's clients compute and mix at all of them",
            old=draw,
            new=draw.replace("S_t", "plan.computing[0]"),
            options=_STEP,
        ),
        box(
            id=f"{prefix}-everyone",
            words="all clients compute, those selected mix",
            old=_SGD,
            new=_SGD_OF_ALL.format(everyone),
            options=_STEP,
        ),
    )


_WHOLE_LOOP = f"""X = stack([x] * len(clients))
    for t, S_t in enumerate(plan.computing):
        S = list(S_t)
        {_SGD}
        X = gossip(X, W)"""

_gossip = partial(Mutant, algorithms=(*SERVED, "gossip-pga"), rule=_GOSSIP + "gossip", old="return W @ X")
_mean_change = partial(Mutant, algorithms=SERVED, rule=_AFGA + "mean_change")
_server = partial(Mutant, algorithms=SERVED, rule=_SERVER)
_cafga_change = partial(
    Mutant,
    algorithms=("cafga",),
    rule=_CAFGA + "change",
    old="return cluster_mean(stack(deltas), weights(h, clusters, x)), X",
)
_cluster_mean = partial(
    Mutant, algorithms=("cafga", "cafga-a"), rule=_GOSSIP + "cluster_mean", options={"cluster_weights": "sizes"}
)
_broadcast = partial(Mutant, algorithms=("cafga",), rule=_GOSSIP + "broadcast", old="x, x_i)", options=_HEARD)
_dsgd = partial(Mutant, algorithms=("dsgd",), rule=_GOSSIP + "dsgd", old="return W @ X - eta_l * G")
_gossip_pga = partial(Mutant, algorithms=("gossip-pga",), rule=_PEERS + "gossip_pga")
_global_mean = partial(Mutant, algorithms=("gossip-pga",), rule=_GOSSIP + "global_mean")
_moments = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "moments")
_local_step = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "local_step")
_tracked_dadam = partial(Mutant, algorithms=("dadam",), rule=_PEERS + "tracked_dadam", options=_TRACKED)
_tracked_step = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "tracked_step", options=_TRACKED)
_track = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "track", old="u_tilde - before + after", options=_TRACKED)

MUTANTS = (
    _gossip(id="gossip-transposed", words="W is transposed", new="return W.T @ X"),
    _gossip(id="gossip-twice", words="two exchanges for one", new="return W @ (W @ X)"),
    _gossip(
        id="gossip-uniform",
        words="neighbours count alike, whatever their weights: rows sum to one, columns do not",
        new="A = where_less(W * 0, W, W * 0 + 1, W * 0)\n    return A @ X / A.sum(axis=1)[:, None]",
    ),
    *_local(
        prefix="afga",
        rule=_AFGA + "change",
        algorithms=WHOLE,
        who="list(S_t)",
        exchange="X = gossip(X, W)",
        everyone="list(range(len(X)))",
    ),
    *_local(
        prefix="cafga",
        rule=_CAFGA + "change",
        algorithms=("cafga",),
        who="[i for i in S_t if i in V]",
        exchange="X = put(X, V, gossip(X[V], W_k))",
        everyone="V",
    ),
    Mutant(
        id="afga-senders-compute",
        words="no re-sampling: the senders compute at every local step",
        algorithms=("afga",),
        rule=_AFGA + "change",
        old="S = list(S_t)",
        new="S = list(S_r)",
    ),
    Mutant(
        id="afga-own-models",
        words="the clients begin a round from their own models instead of the server's",
        algorithms=WHOLE,
        rule=_AFGA + "change",
        old=_WHOLE_LOOP,
        new=_WHOLE_LOOP.replace("stack([x]", "getattr(change, 'kept', stack([x]")
        .replace("clients))", "clients)))")
        .replace("X = gossip", "X = change.kept = gossip"),
        leaks="session",
    ),
    _mean_change(
        id="afga-over-all",
        words="divided by the number of clients instead of the number of senders",
        old="return weighted_mean(deltas, shares([1] * len(deltas), x))",
        new="return weighted_mean(deltas, shares([1] * len(deltas), x)) * len(deltas) / len(X)",
    ),
    _mean_change(
        id="afga-of-all",
        words="the mean over all clients instead of the senders",
        old="deltas = X[list(S)] - x",
        new="deltas = X - x",
    ),
    _mean_change(
        id="afga-turned", words="changes point uphill", old="deltas = X[list(S)] - x", new="deltas = x - X[list(S)]"
    ),
    _server(
        id="afga-no-max",
        words="the maximum is never taken",
        old="v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
        new="v_hat = corrected(v, beta2, t, before)",
    ),
    _server(id="afga-squared-momentum", words="v from m^2 instead of Delta^2", old="delta**2", new="m**2"),
    _server(
        id="afga-stale-max",
        words="the step uses the maximum of the round before",
        old="v_step = corrected(v_hat,",
        new="v_step = corrected(state.v_hat,",
    ),
    _cafga_change(
        id="cafga-pooled",
        words="the mean over all senders, whatever their clusters",
        new="return mean_change(X, x, plan.senders), X",
    ),
    _cafga_change(
        id="cafga-summed", words="the clusters' changes are summed, not averaged", new="return sum(deltas), X"
    ),
    _cafga_change(id="cafga-last", words="only the last cluster's change survives", new="return deltas[-1], X"),
    _cluster_mean(
        id="clusters-squared",
        words="the clusters' weights are applied twice",
        old="return w @ deltas",
        new="return (w * w) @ deltas / (w @ w)",
    ),
    _cluster_mean(
        id="clusters-first", words="only the first cluster's change counts", old="w @ deltas", new="deltas[0]"
    ),
    _cluster_mean(
        id="clusters-reversed",
        words="the clusters' weights in the opposite order",
        old="w @ deltas",
        new="w[::-1] @ deltas",
    ),
    _broadcast(id="one-hop-reversed", words="those who hear of the model are those who do not take it", new="x_i, x)"),
    _broadcast(id="one-hop-half", words="those who hear of the model go half way to it", new="(x + x_i) / 2, x_i)"),
    _broadcast(id="one-hop-zero", words="those who do not hear of the model begin at zero", new="x, x_i * 0)"),
    Mutant(
        id="one-hop-transposed",
        words="the model reaches those to whom the senders listen",
        algorithms=("cafga",),
        rule=_CAFGA + "beginning",
        old="W[i, j]",
        new="W[j, i]",
        options=_HEARD,
    ),
    *_adapted(
        prefix="adapted",
        rule=_AFGA + "change_adapted",
        algorithm="afga-a",
        exchange="gossip(X[S], W)",
        everyone="range(len(X))",
        draw="else S_t)",
    ),
    *_adapted(
        prefix="cafga-adapted",
        rule=_CAFGA + "change_adapted",
        algorithm="cafga-a",
        exchange="gossip(X[S], plan.mixing[rows][:, rows])",
        everyone="V",
        draw="else S_t\n",
    ),
    Mutant(
        id="adapted-last-send",
        words="the last local step's clients send",
        algorithms=("afga-a",),
        rule=_AFGA + "change_adapted",
        old="mean_change(X, x, S_r)",
        new="mean_change(X, x, plan.computing[-1])",
        options=_STEP,
    ),
    _dsgd(id="dsgd-transposed", words="W is transposed", new="return W.T @ X - eta_l * G"),
    _dsgd(id="dsgd-unmixed", words="the clients do not mix", new="return X - eta_l * G"),
    _dsgd(
        id="dsgd-mean-gradient",
        words="everybody takes the mean gradient",
        new="return W @ X - eta_l * G.sum(axis=0) / len(G)",
    ),
    _dsgd(
        id="dsgd-mixed-gradient",
        words="the gradients are mixed with two exchanges",
        new="return W @ X - eta_l * W @ (W @ G)",
    ),
    Mutant(
        id="dsgd-stale",
        words="every gradient at the model that the round began with",
        algorithms=("dsgd",),
        rule=_PEERS + "dsgd",
        old="is Order.GRADIENT_AT_COMBINED else X)",
        new="is Order.GRADIENT_AT_COMBINED else state.X)",
    ),
    _gossip_pga(id="pga-first", words="the global mean at the first step of a period", old="t == last", new="t == 0"),
    _gossip_pga(id="pga-always", words="the global mean at every step", old="t == last", new="True"),
    _gossip_pga(id="pga-never", words="never a global mean", old="t == last", new="False"),
    _gossip_pga(
        id="pga-mix-first",
        words="the exchange before the gradient step",
        old=f"{_SGD_PEERS}\n        {_MIX_PEERS}",
        new=f"{_MIX_PEERS}\n        {_SGD_PEERS}",
    ),
    _global_mean(
        id="pga-leader",
        words="the first client's model for everybody",
        old="sum(X[1:], start=X[0]) / len(X)",
        new="X[0]",
    ),
    _global_mean(id="pga-summed", words="the models are summed, not averaged", old=" / len(X)", new=""),
    _global_mean(
        id="pga-without-one",
        words="the first client's model is left out of the mean",
        old="start=X[0]) / len(X)",
        new="start=X[-1]) / len(X)",
    ),
    _moments(id="dadam-no-max", words="the maximum is never taken", old="maximum(state.v_hat, v)", new="v"),
    _moments(
        id="dadam-only-max", words="beta3 is ignored", old="beta3 * state.v_hat + (1 - beta3) * maximum", new="maximum"
    ),
    _moments(
        id="dadam-beta3-swapped",
        words="beta3 and 1 - beta3 are exchanged",
        old="beta3 * state.v_hat + (1 - beta3) * maximum",
        new="(1 - beta3) * state.v_hat + beta3 * maximum",
    ),
    _moments(id="dadam-undamped", words="the gradient enters m whole", old="(1 - beta1) * g", new="g"),
    _moments(id="dadam-squared-momentum", words="v from m^2 instead of g^2", old="g**2", new="m**2"),
    _local_step(
        id="dadam-inside",
        words="eps inside the root",
        old="eta_l * m / (sqrt(v_hat) + eps)",
        new="eta_l * m / sqrt(v_hat + eps)",
    ),
    _local_step(
        id="dadam-adapt-first",
        words="the step is mixed too",
        old="W @ X - eta_l * m / (sqrt(v_hat) + eps)",
        new="W @ (X - eta_l * m / (sqrt(v_hat) + eps))",
    ),
    _local_step(id="dadam-unmixed", words="the clients do not mix", old="W @ X", new="X"),
    Mutant(
        id="dadam-stale-momentum",
        words="the step uses the momentum of the step before",
        algorithms=("dadam",),
        rule=_PEERS + "local_dadam",
        old="past.m,",
        new="state.moments.m,",
    ),
    Mutant(
        id="dadam-second-moment",
        words="divided by the root of v instead of v_hat",
        algorithms=("dadam",),
        rule=_PEERS + "local_dadam",
        old="past.m, past.v_hat",
        new="past.m, past.v",
    ),
    _tracked_dadam(
        id="tracked-unmixed",
        words="the second moments are not mixed",
        old="gossip(state.u_tilde, W)",
        new="state.u_tilde",
    ),
    _tracked_dadam(
        id="tracked-ahead",
        words="divided by second moments that hold this step's gradient",
        old="X = tracked_step(state.X, past.m, u_tilde,",
        new="X = tracked_step(state.X, past.m, u_tilde + past.v_hat - state.moments.v_hat,",
    ),
    _tracked_dadam(
        id="tracked-own",
        words="divided by the clients' own second moments",
        old="X = tracked_step(state.X, past.m, u_tilde,",
        new="X = tracked_step(state.X, past.m, past.v_hat,",
    ),
    _tracked_step(
        id="tracked-outside",
        words="eps beside the root",
        old="sqrt(maximum(u_tilde, eps))",
        new="(sqrt(u_tilde) + eps)",
    ),
    _tracked_step(
        id="tracked-rootless",
        words="the root is missing",
        old="sqrt(maximum(u_tilde, eps))",
        new="maximum(u_tilde, eps)",
    ),
    _tracked_step(id="tracked-models-unmixed", words="the models are not mixed", old="W @ X", new="X"),
    _track(id="tracked-forgotten", words="what was agreed on is forgotten", new="after"),
    _track(id="tracked-summed", words="the old second moments are not taken off", new="u_tilde + after"),
    _track(id="tracked-frozen", words="the second moments never change", new="u_tilde"),
)
