"""Mutants of AFGA and its relatives."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

SERVED = ("afga", "gossip-fedamsgrad", "afga-a", "cafga", "cafga-a")
WHOLE = ("afga", "gossip-fedamsgrad")
"""Those that run Algorithm 1, in which all clients mix."""

_AFGA = "fedspec.algorithms.afga."
_CAFGA = "fedspec.algorithms.cafga."
_GOSSIP = "fedspec.mixing.gossip."
_SERVER = "fedspec.server.amsgrad.general_amsgrad"

_HEARD = {"broadcast": "neighbours"}
_STEP = {"sampling": "step"}


_SGD = "X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))"
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
        S = numbered(S_t, X)
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
        who="numbered(S_t, X)",
        exchange="X = gossip(X, W)",
        everyone="list(range(len(X)))",
    ),
    *_local(
        prefix="cafga",
        rule=_CAFGA + "change",
        algorithms=("cafga",),
        who="numbered([i for i in S_t if i in V], X)",
        exchange="X = put(X, V, gossip(X[V], W_k))",
        everyone="V",
    ),
    Mutant(
        id="afga-senders-compute",
        words="no re-sampling: the senders compute at every local step",
        algorithms=("afga",),
        rule=_AFGA + "change",
        old="S = numbered(S_t, X)",
        new="S = numbered(S_r, X)",
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
        old="deltas = X[numbered(S, X)] - x",
        new="deltas = X - x",
    ),
    _mean_change(
        id="afga-turned",
        words="changes point uphill",
        old="deltas = X[numbered(S, X)] - x",
        new="deltas = x - X[numbered(S, X)]",
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
        draw="else S_t, X)",
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
)
