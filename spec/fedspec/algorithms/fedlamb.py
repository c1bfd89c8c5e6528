"""Fed-LAMB: Fed-AMS whose local steps have a set length in every layer.

    for each client i in D:
        x_i = x;  m_i, v_i as it left them
        T times:
            g = g_i(x_i)
            m_i = beta1 m_i + (1 - beta1) g;  v_i = beta2 v_i + (1 - beta2) g^2
            p = m_i / (1 - beta1^t) / (sqrt(v_hat) + eps)    (t: all gradients that m_i holds)
            for each layer l, all from the same x_i:
                q = p^l + lam x_i^l
                x_i^l = x_i^l - eta_l phi(||x_i^l||) q / ||q||
        s_i = v_i
    x = mean over D of x_i
    v_hat = max(v_hat, mean over D of s_i)

That is the box repaired. The print takes one gradient a round, before a loop over t that it does not open (L137); it
averages m^t with m^(t-1) and v^t with v^t, both of the round before, and puts their corrected values in their place
(L140-141). It counts t from 1 in every round; its text has the lines correct biases (L120), which averages that are
carried on have lost: that alone is ``fed-lamb-local-exponent``. It divides by v_hat_r, of which it makes the first,
v_hat_1, nowhere (L143, L131); and it divides sums over D^r by n (L152-154). It runs as ``fed-lamb-literal``: with
beta2 = 0.999 its v grows 999-fold each round, which its own text rules out ("smooth updates", L120; the proofs correct
nothing, L577).

A layer is a block of the model. The box wants lam in ]0, 1[, its theory 0 and its experiments 0, 0.01 or 0.1: here
lam >= 0. It calls lam a control of the scale of the layerwise gradients (L329); it is a weight decay inside the
normalised direction, which it turns. Its text calls phi a factor of the rate that "Line 12" computes (L120): phi is
applied in line 12 (L147), and the text's other numbers of lines are those of no line of the box. Fig. 1 (L125) agrees
with the box in what is sent.

With phi the identity a layer that is zero stays zero, a bias that is initialised so included, and a layer of one
coordinate never changes sign. Steps do not shorten near a minimum. Both are as published.

Source: Fed-LAMB, Alg. 1 (L127-156).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.local_ams import SYMBOLS, FedAms, State, init, run
from fedspec.arith import Scalar, Vector, concatenate
from fedspec.client.lamb import check_ends, layer_step
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import NOT_GIVEN
from fedspec.plan import Plan
from fedspec.population import Clients
from fedspec.readings import Normalisation, Phi

__all__ = ["FedLamb", "init", "step"]


@dataclass(frozen=True)
class FedLamb(FedAms):
    """Hyper-parameters and readings of Fed-LAMB.

    Raises:
        ParameterError: phi clips and phi_m is not below phi_M, or :class:`FedAms` rejects the values.
    """

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **FedAms.plays,
        **dict.fromkeys(("phi_m", "phi_M"), ("phi=clip",)),
    }

    lam: Scalar = 0
    phi_m: Scalar = NOT_GIVEN
    phi_M: Scalar = NOT_GIVEN
    phi: Phi = Phi.IDENTITY
    normalisation: Normalisation = Normalisation.LAYER

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.phi is Phi.CLIP:
            check_ends(self.phi_m, self.phi_M)


def step(h: FedLamb, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round under any options."""

    def move(h: FedLamb, state: State, x: Vector, p: Vector) -> Vector:
        new = []
        for l in state.layers:
            moved = layer_step(x[..., l], p[..., l], **h.of(layer_step))
            new.append(moved)
        return concatenate(new)

    return run(h, state, clients, plan, move)


ROW = Algorithm(
    id="fed-lamb",
    family=Family.LAYERWISE,
    place=1,
    title="local AMSGrad with layerwise normalised steps",
    source="Fed-LAMB, Alg. 1 (L127-156)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fed-lamb",
            words=(
                "the box repaired: a fresh gradient at every local step, moments carried on unless a claim says "
                "otherwise, m_i corrected in a copy by all the steps that it has seen (L120), means over the clients "
                "of a round; phi is the identity, as in the experiments (L329), unless a claim declares another"
            ),
            fixes={
                "gradient": "fresh",
                "bias_correction": "moments",
                "exponent": "global",
                "averaged": "participants",
            },
        ),
        Reading(
            name="fed-lamb-local-exponent",
            words=(
                "as fed-lamb, with moments carried on and m_i corrected with t = 1..T in every round, as the two are "
                "printed (L140): the first steps of every round but the first are up to 1 / (1 - beta1) times too long "
                "before they are normalised"
            ),
            fixes={
                "gradient": "fresh",
                "memory": "carried",
                "bias_correction": "moments",
                "exponent": "local",
                "averaged": "participants",
            },
        ),
        Reading(
            name="fed-lamb-theory",
            words=(
                "as fed-lamb, without bias correction: the proofs (L577-579). They also have T = 1, eps = 0, lam "
                "= 0 (L561), and phi between phi_m and phi_M (H4, L188), which a claim declares as phi = clip"
            ),
            fixes={"gradient": "fresh", "bias_correction": "none", "averaged": "participants"},
        ),
        Reading(
            name="fed-lamb-literal",
            words=(
                "every index as printed: one gradient a round, whatever T (L137); m_i^t from m_i^(t-1) and v_i^t "
                "from v_i^t of the round before, each replaced by its corrected value, which can grow without "
                "bound (L140-141); sums over the clients of a round divided by the number of all (L152-154)"
            ),
            fixes={"gradient": "stale", "memory": "two-index", "bias_correction": "in-place", "averaged": "all"},
        ),
        Reading(
            name="fed-lamb-last-sent",
            words=(
                "as fed-lamb, with the means over all n clients that line 15 prints (L152-154): a client that sits "
                "out counts with the model and the second moment that it sent last"
            ),
            fixes={"gradient": "fresh", "bias_correction": "moments", "averaged": "last-sent"},
        ),
    ),
    run=Program(hyper=FedLamb, init=init, step=step, takes=("layers",)),
    costs=Costs(
        down="2 m d",
        up="2 m d",
        client="2 d",
        working="4 d",
        server="2 d",
        note="second moments travel both ways, twice what FedAvg sends; L290 says otherwise",
    ),
    traps=(
        phrases.LAGGED_V_HAT,
        phrases.MEAN_THEN_MAX,
        phrases.DIVISOR,
        "every layer reads ||x|| and x from before the step",
        "with phi the identity a layer at zero never moves: biases that start at zero stay there",
        "steps have one length however small the gradient is; near a minimum they swing",
        "the printed in-place correction feeds itself and explodes",
        phrases.CARRIED_EXPONENT,
        "where the direction is zero the layer stays; an eps in the norm is another algorithm",
    ),
    symbols=SYMBOLS | {"lam": "lambda", "p": "p_(r,i)^t"},
)
