"""Mutants of AFGA and its relatives, and of the algorithms without a server."""

from __future__ import annotations

from collections.abc import Mapping

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


def _of(
    algorithms: tuple[str, ...],
    rule: str,
    *edits: tuple[str, str, str, str],
    options: Mapping[str, str] | None = None,
) -> tuple[Mutant, ...]:
    """Mutants of one function: id, words, and what stands there before and after."""
    return tuple(
        Mutant(id=name, words=words, algorithms=algorithms, rule=rule, old=old, new=new, options=options or {})
        for name, words, old, new in edits
    )


_SGD = "X = put(X, S, sgd(X[S], gradients(clients, S, t, X[S]), eta_l=h.eta_l))"
_SGD_PEERS = "X = sgd(X, gradients(clients, everyone, t, X), eta_l=h.eta_l)"
_MIX_PEERS = "X = global_mean(X) if t == last else gossip(X, W)"
_SGD_OF_ALL = "A = list({}); X = put(X, A, sgd(X[A], gradients(clients, A, t, X[A]), eta_l=h.eta_l))"


def _local(
    prefix: str, rule: str, algorithms: tuple[str, ...], who: str, exchange: str, everyone: str
) -> tuple[Mutant, ...]:
    """Mutants of a box in which all clients mix: those of the local steps; ``who`` says which clients compute."""
    at = "\n" + " " * (8 if rule.startswith(_AFGA) else 12)
    frozen = f"X = put(X, S, {exchange.removeprefix('X = ')}[S])"
    return (
        *_of(
            algorithms,
            rule,
            (f"{prefix}-frozen", "clients that do not compute keep their models instead of mixing", exchange, frozen),
            (
                f"{prefix}-mix-first",
                "mixing before the gradient step, so that the last one is not mixed",
                f"{_SGD}{at}{exchange}",
                f"{exchange}{at}{_SGD}",
            ),
            (f"{prefix}-everyone", "every client computes at every local step", f"S = {who}", f"S = {everyone}"),
        ),
        *_of(
            (prefix,),
            rule,
            (
                f"{prefix}-first-draw",
                "no re-sampling: the first local step's clients compute at all of them",
                f"S = {who}",
                f"S = {who.replace('S_t', 'plan.computing[0]')}",
            ),
        ),
    )


def _adapted(prefix: str, rule: str, algorithm: str, exchange: str, everyone: str, draw: str) -> tuple[Mutant, ...]:
    """Mutants of a box in which those who compute mix."""
    at = "\n" + " " * (8 if rule.startswith(_AFGA) else 12)
    return (
        *_of(
            (algorithm,),
            rule,
            (f"{prefix}-unmixed", "the selected clients do not mix", exchange, "X[S]"),
            (f"{prefix}-sorted", "the rows of W follow the clients' numbers", _SGD, f"S = sorted(S){at}{_SGD}"),
            (
                f"{prefix}-mix-first",
                "the selected clients mix before the gradient step",
                f"{_SGD}{at}X = put(X, S, {exchange})",
                f"X = put(X, S, {exchange}){at}{_SGD}",
            ),
        ),
        *_of(
            (algorithm,),
            rule,
            (
                f"{prefix}-first-draw",
                "the first local step's clients compute and mix at all of them",
                draw,
                draw.replace("S_t", "plan.computing[0]"),
            ),
            (
                f"{prefix}-everyone",
                "all clients compute, those selected mix",
                _SGD,
                _SGD_OF_ALL.format(everyone),
            ),
            options=_STEP,
        ),
    )


_WHOLE_LOOP = f"""X = stack([x] * len(clients))
    for t, S_t in enumerate(plan.computing):
        S = list(S_t)
        {_SGD}
        X = gossip(X, W)"""

MUTANTS = (
    *_of(
        (*SERVED, "gossip-pga"),
        _GOSSIP + "gossip",
        ("gossip-transposed", "W is transposed", "return W @ X", "return W.T @ X"),
        ("gossip-twice", "two exchanges for one", "return W @ X", "return W @ (W @ X)"),
        (
            "gossip-uniform",
            "neighbours count alike, whatever their weights: rows sum to one, columns do not",
            "return W @ X",
            "A = where_less(W * 0, W, W * 0 + 1, W * 0)\n    return A @ X / A.sum(axis=1)[:, None]",
        ),
    ),
    *_local("afga", _AFGA + "change", WHOLE, "list(S_t)", "X = gossip(X, W)", "list(range(len(X)))"),
    *_local(
        "cafga", _CAFGA + "change", ("cafga",), "[i for i in S_t if i in V]", "X = put(X, V, gossip(X[V], W_k))", "V"
    ),
    *_of(
        ("afga",),
        _AFGA + "change",
        (
            "afga-senders-compute",
            "no re-sampling: the senders compute at every local step",
            "S = list(S_t)",
            "S = list(S_r)",
        ),
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
    *_of(
        SERVED,
        _AFGA + "mean_change",
        (
            "afga-over-all",
            "divided by the number of clients instead of the number of senders",
            "return weighted_mean(deltas, shares([1] * len(deltas), x))",
            "return weighted_mean(deltas, shares([1] * len(deltas), x)) * len(deltas) / len(X)",
        ),
        (
            "afga-of-all",
            "the mean over all clients instead of the senders",
            "deltas = X[list(S)] - x",
            "deltas = X - x",
        ),
        ("afga-turned", "changes point uphill", "deltas = X[list(S)] - x", "deltas = x - X[list(S)]"),
    ),
    *_of(
        SERVED,
        _SERVER,
        (
            "afga-no-max",
            "the maximum is never taken",
            "v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
            "v_hat = corrected(v, beta2, t, before)",
        ),
        ("afga-squared-momentum", "v from m^2 instead of Delta^2", "delta**2", "m**2"),
        (
            "afga-stale-max",
            "the step uses the maximum of the round before",
            "v_step = corrected(v_hat,",
            "v_step = corrected(state.v_hat,",
        ),
    ),
    *_of(
        ("cafga",),
        _CAFGA + "change",
        (
            "cafga-pooled",
            "the mean over all senders, whatever their clusters",
            "return cluster_mean(stack(deltas), weights(h, clusters, x)), X",
            "return mean_change(X, x, plan.senders), X",
        ),
        (
            "cafga-summed",
            "the clusters' changes are summed, not averaged",
            "return cluster_mean(stack(deltas), weights(h, clusters, x)), X",
            "return sum(deltas), X",
        ),
        (
            "cafga-last",
            "only the last cluster's change survives",
            "return cluster_mean(stack(deltas), weights(h, clusters, x)), X",
            "return deltas[-1], X",
        ),
    ),
    *_of(
        ("cafga", "cafga-a"),
        _GOSSIP + "cluster_mean",
        (
            "clusters-squared",
            "the clusters' weights are applied twice",
            "return w @ deltas",
            "return (w * w) @ deltas / (w @ w)",
        ),
        ("clusters-first", "only the first cluster's change counts", "w @ deltas", "deltas[0]"),
        ("clusters-reversed", "the clusters' weights in the opposite order", "w @ deltas", "w[::-1] @ deltas"),
        options={"cluster_weights": "sizes"},
    ),
    *_of(
        ("cafga",),
        _GOSSIP + "broadcast",
        ("one-hop-reversed", "those who hear of the model are those who do not take it", "x, x_i)", "x_i, x)"),
        ("one-hop-half", "those who hear of the model go half way to it", "x, x_i)", "(x + x_i) / 2, x_i)"),
        ("one-hop-zero", "those who do not hear of the model begin at zero", "x, x_i)", "x, x_i * 0)"),
        options=_HEARD,
    ),
    *_of(
        ("cafga",),
        _CAFGA + "beginning",
        (
            "one-hop-transposed",
            "the model reaches those to whom the senders listen",
            "W[i, j]",
            "W[j, i]",
        ),
        options=_HEARD,
    ),
    *_adapted("adapted", _AFGA + "change_adapted", "afga-a", "gossip(X[S], W)", "range(len(X))", "else S_t)"),
    *_adapted(
        "cafga-adapted",
        _CAFGA + "change_adapted",
        "cafga-a",
        "gossip(X[S], plan.mixing[rows][:, rows])",
        "V",
        "else S_t\n",
    ),
    *_of(
        ("afga-a",),
        _AFGA + "change_adapted",
        (
            "adapted-last-send",
            "the last local step's clients send",
            "mean_change(X, x, S_r)",
            "mean_change(X, x, plan.computing[-1])",
        ),
        options=_STEP,
    ),
    *_of(
        ("dsgd",),
        _GOSSIP + "dsgd",
        ("dsgd-transposed", "W is transposed", "return W @ X - eta_l * G", "return W.T @ X - eta_l * G"),
        ("dsgd-unmixed", "the clients do not mix", "return W @ X - eta_l * G", "return X - eta_l * G"),
        (
            "dsgd-mean-gradient",
            "everybody takes the mean gradient",
            "return W @ X - eta_l * G",
            "return W @ X - eta_l * G.sum(axis=0) / len(G)",
        ),
        (
            "dsgd-mixed-gradient",
            "the gradients are mixed with two exchanges",
            "return W @ X - eta_l * G",
            "return W @ X - eta_l * W @ (W @ G)",
        ),
    ),
    *_of(
        ("dsgd",),
        _PEERS + "dsgd",
        (
            "dsgd-stale",
            "every gradient at the model that the round began with",
            "is Order.GRADIENT_AT_COMBINED else X)",
            "is Order.GRADIENT_AT_COMBINED else state.X)",
        ),
    ),
    *_of(
        ("gossip-pga",),
        _PEERS + "gossip_pga",
        ("pga-first", "the global mean at the first step of a period", "t == last", "t == 0"),
        ("pga-always", "the global mean at every step", "t == last", "True"),
        ("pga-never", "never a global mean", "t == last", "False"),
        (
            "pga-mix-first",
            "the exchange before the gradient step",
            f"{_SGD_PEERS}\n        {_MIX_PEERS}",
            f"{_MIX_PEERS}\n        {_SGD_PEERS}",
        ),
    ),
    *_of(
        ("gossip-pga",),
        _GOSSIP + "global_mean",
        ("pga-leader", "the first client's model for everybody", "sum(X[1:], start=X[0]) / len(X)", "X[0]"),
        ("pga-summed", "the models are summed, not averaged", " / len(X)", ""),
        (
            "pga-without-one",
            "the first client's model is left out of the mean",
            "start=X[0]) / len(X)",
            "start=X[-1]) / len(X)",
        ),
    ),
    *_of(
        ("dadam",),
        _DADAM + "moments",
        ("dadam-no-max", "the maximum is never taken", "maximum(state.v_hat, v)", "v"),
        ("dadam-only-max", "beta3 is ignored", "beta3 * state.v_hat + (1 - beta3) * maximum", "maximum"),
        (
            "dadam-beta3-swapped",
            "beta3 and 1 - beta3 are exchanged",
            "beta3 * state.v_hat + (1 - beta3) * maximum",
            "(1 - beta3) * state.v_hat + beta3 * maximum",
        ),
        ("dadam-undamped", "the gradient enters m whole", "(1 - beta1) * g", "g"),
        ("dadam-squared-momentum", "v from m^2 instead of g^2", "g**2", "m**2"),
    ),
    *_of(
        ("dadam",),
        _DADAM + "local_step",
        ("dadam-inside", "eps inside the root", "eta_l * m / (sqrt(v_hat) + eps)", "eta_l * m / sqrt(v_hat + eps)"),
        (
            "dadam-adapt-first",
            "the step is mixed too",
            "W @ X - eta_l * m / (sqrt(v_hat) + eps)",
            "W @ (X - eta_l * m / (sqrt(v_hat) + eps))",
        ),
        ("dadam-unmixed", "the clients do not mix", "W @ X", "X"),
    ),
    *_of(
        ("dadam",),
        _PEERS + "local_dadam",
        ("dadam-stale-momentum", "the step uses the momentum of the step before", "past.m,", "state.moments.m,"),
        ("dadam-second-moment", "divided by the root of v instead of v_hat", "past.m, past.v_hat", "past.m, past.v"),
    ),
    *_of(
        ("dadam",),
        _PEERS + "tracked_dadam",
        ("tracked-unmixed", "the second moments are not mixed", "gossip(state.u_tilde, W)", "state.u_tilde"),
        (
            "tracked-ahead",
            "divided by second moments that hold this step's gradient",
            "X = tracked_step(state.X, past.m, u_tilde,",
            "X = tracked_step(state.X, past.m, u_tilde + past.v_hat - state.moments.v_hat,",
        ),
        (
            "tracked-own",
            "divided by the clients' own second moments",
            "X = tracked_step(state.X, past.m, u_tilde,",
            "X = tracked_step(state.X, past.m, past.v_hat,",
        ),
        options=_TRACKED,
    ),
    *_of(
        ("dadam",),
        _DADAM + "tracked_step",
        ("tracked-outside", "eps beside the root", "sqrt(maximum(u_tilde, eps))", "(sqrt(u_tilde) + eps)"),
        ("tracked-rootless", "the root is missing", "sqrt(maximum(u_tilde, eps))", "maximum(u_tilde, eps)"),
        ("tracked-models-unmixed", "the models are not mixed", "W @ X", "X"),
        options=_TRACKED,
    ),
    *_of(
        ("dadam",),
        _DADAM + "track",
        ("tracked-forgotten", "what was agreed on is forgotten", "u_tilde - before + after", "after"),
        ("tracked-summed", "the old second moments are not taken off", "u_tilde - before + after", "u_tilde + after"),
        ("tracked-frozen", "the second moments never change", "u_tilde - before + after", "u_tilde"),
        options=_TRACKED,
    ),
)
