"""Mutants of the algorithms without a server."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_PEERS = "fedspec.algorithms.peers."
_ADAM_PEERS = "fedspec.algorithms.dadam."
_GOSSIP = "fedspec.mixing.gossip."
_DADAM = "fedspec.mixing.dadam."
_TRACKED = {"denominators": "tracked"}
_SGD_PEERS = "X = sgd(X, gradients(clients, everyone, t, X), eta_l=h.eta_l)"
_MIX_PEERS = "X = global_mean(X) if t == last else gossip(X, W)"

_dsgd = partial(Mutant, algorithms=("dsgd",), rule=_GOSSIP + "dsgd", old="return W @ X - eta_l * G")
_gossip_pga = partial(Mutant, algorithms=("gossip-pga",), rule=_PEERS + "gossip_pga")
_global_mean = partial(Mutant, algorithms=("gossip-pga",), rule=_GOSSIP + "global_mean")
_moments = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "moments")
_local_step = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "local_step")
_tracked_dadam = partial(Mutant, algorithms=("dadam",), rule=_ADAM_PEERS + "tracked_dadam", options=_TRACKED)
_tracked_step = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "tracked_step", options=_TRACKED)
_track = partial(Mutant, algorithms=("dadam",), rule=_DADAM + "track", old="u_tilde - before + after", options=_TRACKED)

MUTANTS = (
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
        rule=_ADAM_PEERS + "local_dadam",
        old="past.m,",
        new="state.moments.m,",
    ),
    Mutant(
        id="dadam-second-moment",
        words="divided by the root of v instead of v_hat",
        algorithms=("dadam",),
        rule=_ADAM_PEERS + "local_dadam",
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
