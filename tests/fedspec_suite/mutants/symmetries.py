"""Mutants that break a symmetry or a limit which the other edits of the same rules keep."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_LAMB = "fedspec.client.lamb."

MUTANTS = (
    Mutant(
        id="decayed-hyperbolic",
        words="the rate falls as 1 / (1 + gamma k), so that gamma = 1 is not SGD",
        algorithms=("decayed-sgd",),
        rule="fedspec.client.sgd.decayed_sgd",
        old="gamma**k",
        new="(1 / (1 + gamma * k))",
    ),
    Mutant(
        id="afga-rate-twice",
        words="the client rate is applied twice",
        algorithms=("afga", "gossip-fedamsgrad"),
        rule="fedspec.client.sgd.sgd",
        old="eta_l * g",
        new="eta_l * eta_l * g",
    ),
    Mutant(
        id="afga-no-root",
        words="the root is missing",
        algorithms=("afga", "fedamsgrad"),
        rule="fedspec.preconditioner.root",
        old="else sqrt(v + eps)",
        new="else v + eps",
        options={"epsilon": "inside"},
    ),
    Mutant(
        id="gossip-self-left-out",
        words="a client's own model is left out of its mean",
        algorithms=("afga", "gossip-fedamsgrad"),
        rule="fedspec.mixing.gossip.gossip",
        old="return W @ X",
        new="return (W - W * np.eye(len(W), dtype=int)) @ X",
    ),
    Mutant(
        id="lamb-unsigned",
        words="the first moment averages |g|",
        algorithms=("fed-lamb", "fed-ams"),
        rule=f"{_LAMB}precondition",
        old="(1 - beta1) * g,",
        new="(1 - beta1) * abs(g),",
    ),
    Mutant(
        id="lamb-first-coordinate",
        words="the length of the layer's step is that of its first coordinate",
        algorithms=("fed-lamb",),
        rule=f"{_LAMB}layer_step",
        old="ratio(q, norm(q))",
        new="ratio(q, norm(q[:1]))",
        options={"normalisation": "layer"},
    ),
    Mutant(
        id="lamb-mean-coordinate",
        words="the step is divided by the number of coordinates of the layer",
        algorithms=("fed-lamb",),
        rule=f"{_LAMB}layer_step",
        old="return x - eta_l * q",
        new="return x - eta_l * q / len(q)",
        options={"normalisation": "none"},
    ),
    Mutant(
        id="lamb-weight-decay",
        words="weight decay that nobody asked for",
        algorithms=("fed-lamb",),
        rule=f"{_LAMB}layer_step",
        old="p + lam * x",
        new="p + lam * x + x / 16",
        options={"normalisation": "layer", "phi": "constant"},
    ),
)
