"""Local AMSGrad with periodic averaging: the paper's Fed-AMS, and the general round that Fed-LAMB uses too.

    for each client i in D:
        x_i = x;  m_i, v_i as it left them
        T times:
            g = g_i(x_i)
            m_i = beta1 m_i + (1 - beta1) g;  v_i = beta2 v_i + (1 - beta2) g^2
            p = m_i / (1 - beta1^t) / (sqrt(v_hat) + eps)    (t: all gradients that m_i holds)
            x_i = x_i - eta_l p
        s_i = v_i
    x = mean over D of x_i
    v_hat = max(v_hat, mean over D of s_i)

The box makes v_hat_(r+1) at the end of round r and divides by v_hat_r in it; v_hat_1 is never made and is v_hat_0 here,
so that no gradient of a round is in that round's denominator. The box calls both v_hat_0 and the stabiliser of the
denominator epsilon: they are v0 and eps here. It does not initialise m: m_0 = 0. Its rate is alpha_t, alpha_r and
alpha: eta_l here, and a caller with another rate in the next round makes another record. Sec. 4 draws half of the
clients uniformly (L329): a matter of the plan. A client that is not drawn keeps its moments.

The box counts t from 1 in every round (L140), beside moments of the round before. The text says that the lines correct
the biases of the estimates (L120): an average that goes on from round to round is corrected by all the steps that it
holds. By those of the round a constant gradient's first step of round 2 is (1 - beta1^(T+1)) / (1 - beta1) times that
of round 1: 4.7 times at beta1 = 0.9 and T = 5. That is the reading ``fed-ams-local-exponent``.

Source: Fed-LAMB, Alg. 1 (L127-156) without its line 12: Fed-AMS of sec. 4 (L329), which is not written out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.arith import Count, Scalar, Stack, Vector, array, constant, put, stack, zeros
from fedspec.client.lamb import Moments, precondition, ratio_step, sent_moment
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import ParameterError
from fedspec.hyper import Hyper
from fedspec.mixing.periodic import model_mean, moment_maximum
from fedspec.params import layers
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Averaged, ClientMemory, Exponent, LocalCorrection, LocalGradient, Sent
from fedspec.records import record


@dataclass(frozen=True)
class FedAms(Hyper):
    """Hyper-parameters and readings of Fed-AMS.

    Raises:
        ParameterError: an option has no effect beside the other options, or divides by a factor that another option has
            already divided by.
    """

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {"exponent": ("memory=carried",)}
    """``exponent`` has no effect with other memories: they count the round's steps only, or print two indices."""

    eta_l: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    v0: Scalar
    gradient: LocalGradient = LocalGradient.FRESH
    memory: ClientMemory = ClientMemory.CARRIED
    bias_correction: LocalCorrection = LocalCorrection.MOMENTS
    exponent: Exponent = Exponent.GLOBAL
    sent: Sent = Sent.RAW
    averaged: Averaged = Averaged.PARTICIPANTS

    def __post_init__(self) -> None:
        super().__post_init__()
        correction = self.bias_correction
        if self.exponent is Exponent.LOCAL and correction is LocalCorrection.NONE and self.sent is Sent.RAW:
            raise ParameterError(
                "exponent: got local, which has no effect if bias_correction is none and sent is raw, since then "
                "nothing is divided by 1 - beta^t; drop exponent, or choose a correction"
            )
        if self.sent is Sent.CORRECTED and correction is LocalCorrection.IN_PLACE:
            raise ParameterError(
                "sent: got corrected, but bias_correction is in-place, so v_i would be divided by 1 - beta2^t twice; "
                "give sent = raw"
            )


@record
class State:
    """The server's model and denominator, every client's moments, and the layers of a model.

    Attributes:
        x: the model.
        v_hat: denominator of the next round.
        m_i: every client's first moment as its last round left it.
        v_i: every client's second moment as its last round left it.
        t: number of gradients in every client's moments.
        layers: the coordinates of each layer.
        table: every client's m_i^t and v_i^t, t = 1, 2, ..., if the reading keeps one for each t.
        sent: the x_i and s_i that every client sent last, if the reading averages those of all clients.
    """

    x: Vector
    v_hat: Vector
    m_i: Stack
    v_i: Stack
    t: tuple[int, ...]
    layers: tuple[slice, ...]
    table: tuple[tuple[Stack, Stack], ...] = ()
    sent: tuple[Stack, ...] = ()


def init(h: FedAms, x: Vector, setup: Setup) -> State:
    """Initial state: first moments at zero, second moments at v_0."""
    n, v_0 = setup.clients, constant(h.v0, x)
    m_i, v_i = stack([zeros(x)] * n), stack([v_0] * n)
    sent = (stack([x] * n), v_i) if h.averaged is Averaged.LAST_SENT else ()
    return State(x=x, v_hat=v_0, m_i=m_i, v_i=v_i, t=(0,) * n, layers=layers(setup.shapes), sent=sent)


def after(state: State, plan: Plan, *, x: Vector, v_hat: Vector, m_i: Stack, v_i: Stack) -> State:
    """State after a round, with the new values of the server and of the participants."""
    D, steps = list(plan.participants), dict(zip(plan.participants, plan.steps, strict=True))
    t = tuple(count + steps.get(i, 0) for i, count in enumerate(state.t))
    return replace(state, x=x, v_hat=v_hat, m_i=put(state.m_i, D, m_i), v_i=put(state.v_i, D, v_i), t=t)


def begin(h: FedAms, state: State, i: int) -> Moments:
    """Moments with which client i starts a round, and the number of steps that a bias correction counts in them."""
    m_i, v_i = state.m_i[i], state.v_i[i]
    if h.memory is ClientMemory.RESET:
        return Moments(m_i=zeros(m_i), v_i=constant(h.v0, v_i), t=0)
    return Moments(m_i=m_i, v_i=v_i, t=0 if h.exponent is Exponent.LOCAL else counted(state.t, i, m_i))


def counted(t: Sequence[int], i: Any, like: Vector) -> Count:
    """Step count of client i; for several clients, an array with one count each."""
    if isinstance(i, int):
        return t[i]
    some: Any = array([t[j] for j in i], like) if isinstance(i, list) else array(t, like)[i]
    return some  # type: ignore[no-any-return]


Move = Callable[[Any, State, Vector, Vector], Vector]
"""Function from record, state, x and direction p to the local model after a step."""


def run(h: FedAms, state: State, clients: Clients, plan: Plan, move: Move) -> tuple[State, dict[str, Any]]:
    """Run one round under any options; return m_i and the sent v_i of the participants, in their order."""
    table = _table(h, state, max(plan.steps))

    def client(i: int, x: Vector, gradient: Oracle, T: int) -> tuple[Any, ...]:
        own, last = begin(h, state, i), tuple((m[i], v[i]) for m, v in table)
        now = list(last)
        for k in range(T):
            if k == 0 or h.gradient is LocalGradient.FRESH:
                g = gradient(k, x)
            if last:
                own = Moments(m_i=last[k - 1][0] if k else zeros(x), v_i=last[k][1], t=k)
            own, p = precondition(own, g, state.v_hat, **h.of(precondition))
            now[k : k + 1] = [(own.m_i, own.v_i)] if last else []
            x = move(h, state, x, p)
        return x, own.m_i, own.v_i, sent_moment(own.v_i, steps=own.t, beta2=h.beta2, sent=h.sent), tuple(now)

    D = list(plan.participants)
    models, m_i, v_i, s_i, now = each(client, clients, plan, state.x)
    table = tuple((put(m, D, m_t), put(v, D, v_t)) for (m, v), (m_t, v_t) in zip(table, now, strict=True))
    sent = tuple(put(old, D, new) for old, new in zip(state.sent, (models, s_i), strict=False))
    averaged = sent or (models, s_i)
    n = len(D) if h.averaged is Averaged.PARTICIPANTS else len(state.t)
    x = model_mean(averaged[0], clients=n)
    v_hat = moment_maximum(state.v_hat, averaged[1], clients=n)
    state = replace(after(state, plan, x=x, v_hat=v_hat, m_i=m_i, v_i=v_i), table=table, sent=sent)
    return state, {"m_i": m_i, "s_i": s_i, "v_hat": v_hat}


def _table(h: FedAms, state: State, steps: int) -> tuple[tuple[Stack, Stack], ...]:
    """Moments at every step of a round, if the memory has one entry for each step; new entries are as at first."""
    if h.memory is not ClientMemory.TWO_INDEX:
        return ()
    first = (zeros(state.m_i), constant(h.v0, state.v_i))
    return state.table + (first,) * (steps - len(state.table))


def step(h: FedAms, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round of Fed-AMS under any options."""

    def move(h: FedAms, state: State, x: Vector, p: Vector) -> Vector:
        return ratio_step(x, p, eta_l=h.eta_l)

    return run(h, state, clients, plan, move)


SYMBOLS = {
    "x": "theta-bar_r",
    "x_i": "theta_(r,i)^t",
    "eta_l": "alpha_r, alpha_t or alpha",
    "m_i": "m_(r,i)^t",
    "v_i": "v_(r,i)^t",
    "s_i": "v_(r,i)^T",
    "v0": "epsilon, the same letter as eps (L131)",
    "D": "D^r",
}
"""Symbols of the paper's Algorithm 1 that differ from ours; its r counts rounds."""

ROW = Algorithm(
    id="fed-ams",
    family=Family.LAYERWISE,
    place=2,
    title="local AMSGrad with periodic averaging; not FedAMS (fedams), whose server adapts",
    source="Fed-LAMB, sec. 4 (L329), not written out: Alg. 1 without line 12; external: Chen, Li and Li (2020)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fed-ams",
            words="Fed-LAMB with x_i = x_i - eta_l p for its line 12 and no decay; t counts all that m_i holds (L120)",
            fixes={"exponent": "global"},
        ),
        Reading(
            name="fed-ams-local-exponent",
            words="the same with moments carried on and t = 1..T in every round, as the two are printed (L140)",
            fixes={"memory": "carried", "exponent": "local"},
        ),
    ),
    run=Program(hyper=FedAms, init=init, step=step, takes=("layers",)),
    costs=Costs(
        down="2 m d",
        up="2 m d",
        client="2 d",
        working="4 d",
        server="2 d",
        note="with memory = reset a client keeps nothing",
    ),
    traps=(
        phrases.LAGGED_V_HAT,
        phrases.MEAN_THEN_MAX,
        phrases.DIVISOR,
        "v_0 and the eps of the denominator are two numbers",
        phrases.CARRIED_EXPONENT,
    ),
    symbols=SYMBOLS,
)
