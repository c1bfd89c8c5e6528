"""Mutants of how a round of Fed-LAMB and its baselines is put together: what is kept, sent and averaged."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_LAMB = "fedspec.client.lamb."
_MEAN = "fedspec.mixing.periodic."
_ROUND = "fedspec.algorithms.local_ams."
_BOTH = ("fed-lamb", "fed-ams")

_PRINTED = (
    Mutant(
        id="fed-lamb-m-of-its-own-step",
        words="m^t is averaged with m^t of the round before instead of m^(t-1)",
        algorithms=_BOTH,
        rule=_ROUND + "run",
        old="last[k - 1][0] if k else zeros(x)",
        new="last[k][0]",
        options={"memory": "two-index"},
    ),
    Mutant(
        id="fed-lamb-m-of-this-round",
        words="m^t is averaged with m^(t-1) of this round instead of that of the round before",
        algorithms=("fed-ams",),
        rule=_ROUND + "run",
        old="last[k - 1][0] if k else zeros(x)",
        new="now[k - 1][0] if k else zeros(x)",
        options={"memory": "two-index"},
    ),
    Mutant(
        id="fed-lamb-v-of-the-step-before",
        words="v^t is averaged with v^(t-1) of the round before instead of v^t",
        algorithms=_BOTH,
        rule=_ROUND + "run",
        old="v_i=last[k][1], t=k",
        new="v_i=last[k - 1][1] if k else constant(h.v0, x), t=k",
        options={"memory": "two-index"},
    ),
    Mutant(
        id="fed-lamb-last-sent-from-zero",
        words="clients that have sent nothing yet count with a model of zero",
        algorithms=_BOTH,
        rule=_ROUND + "init",
        old="(stack([x] * n), v_i)",
        new="(stack([zeros(x)] * n), v_i)",
        options={"averaged": "last-sent"},
    ),
    Mutant(
        id="fed-lamb-last-sent-is-the-server",
        words="clients that sit out count with the server's present model",
        algorithms=_BOTH,
        rule=_ROUND + "run",
        old="averaged = sent or (models, s_i)",
        new="averaged = (put(stack([state.x] * len(state.t)), D, models), sent[1]) if sent else (models, s_i)",
        options={"averaged": "last-sent"},
    ),
    Mutant(
        id="fed-lamb-moments-of-the-round",
        words="the models of all clients are averaged, and the moments of the round's over their number",
        algorithms=_BOTH,
        rule=_ROUND + "run",
        old="moment_maximum(state.v_hat, averaged[1], clients=n)",
        new="moment_maximum(state.v_hat, s_i, clients=len(D))",
        options={"averaged": "last-sent"},
    ),
)

_ROUNDS = (
    Mutant(
        id="fed-lamb-stale-gradient",
        words="the first gradient of a round is used in all its steps",
        algorithms=("fed-ams",),
        rule=_ROUND + "run",
        old="if k == 0 or h.gradient is LocalGradient.FRESH:",
        new="if k == 0:",
    ),
    Mutant(
        id="fed-lamb-shared-memory",
        words="clients hand their moments on to the next of the round",
        algorithms=("fed-lamb",),
        rule=_ROUND + "run",
        old="models, m_i, v_i, s_i, now = each(client, clients, plan, state.x)",
        new="rows = []\n"
        "    for i, T in zip(plan.participants, plan.steps, strict=True):\n"
        "        if rows:\n"
        "            m_i, v_i = (put(s, [i], r[None]) for s, r in zip((state.m_i, state.v_i), rows[-1][1:3]))\n"
        "            state = replace(state, m_i=m_i, v_i=v_i)\n"
        "        rows.append(client(i, state.x, clients[i], T))\n"
        "    models, m_i, v_i, s_i = map(stack, list(zip(*rows))[:4])\n"
        "    now = each(client, clients, plan, state.x)[4]",
    ),
    Mutant(
        id="fed-lamb-forgets-the-absent",
        words="the moments of clients that are not drawn start afresh",
        algorithms=_BOTH,
        rule=_ROUND + "run",
        old="state = replace(after(state, plan,",
        new="clear = init(h, x, Setup((1,) * len(state.t), {}))\n"
        "    state = replace(after(replace(state, m_i=clear.m_i, v_i=clear.v_i), plan,",
    ),
    Mutant(
        id="fed-lamb-absent-age",
        words="clients that sit out are counted as if they had taken the round's steps",
        algorithms=_BOTH,
        rule=_ROUND + "after",
        old="count + steps.get(i, 0)",
        new="count + steps.get(i, max(plan.steps))",
    ),
    Mutant(
        id="fed-lamb-m-alone-resets",
        words="m starts afresh in every round, v does not",
        algorithms=("fed-lamb",),
        rule=_ROUND + "begin",
        old="return Moments(m_i=m_i,",
        new="return Moments(m_i=zeros(m_i),",
    ),
    Mutant(
        id="fed-lamb-v-starts-at-zero",
        words="v starts at 0 instead of v_0",
        algorithms=_BOTH,
        rule=_ROUND + "init",
        old="stack([zeros(x)] * n), stack([v_0] * n)",
        new="(stack([zeros(x)] * n),) * 2",
    ),
    Mutant(
        id="fed-lamb-maximum-starts-at-zero",
        words="v_hat starts at 0 instead of v_0",
        algorithms=_BOTH,
        rule=_ROUND + "init",
        old="v_hat=v_0,",
        new="v_hat=zeros(x),",
    ),
    Mutant(
        id="fed-lamb-reset-to-zero",
        words="a reset puts v to 0 instead of v_0",
        algorithms=("fed-lamb",),
        rule=_ROUND + "begin",
        old="v_i=constant(h.v0, v_i)",
        new="v_i=zeros(v_i)",
        options={"memory": "reset"},
    ),
    Mutant(
        id="fed-lamb-model-over-all",
        words="the models are divided by the number of all clients, the moments by that of the round",
        algorithms=("fed-ams",),
        rule=_ROUND + "run",
        old="x = model_mean(averaged[0], clients=n)",
        new="x = model_mean(averaged[0], clients=len(state.t))",
    ),
    Mutant(
        id="fed-lamb-moments-over-all",
        words="the moments are divided by the number of all clients, the models by that of the round",
        algorithms=_BOTH,
        rule=_ROUND + "run",
        old="moment_maximum(state.v_hat, averaged[1], clients=n)",
        new="moment_maximum(state.v_hat, averaged[1], clients=len(state.t))",
    ),
    Mutant(
        id="fed-lamb-correction-counts-rounds",
        words="the second moment that is sent is corrected for one step instead of T",
        algorithms=("fed-lamb",),
        rule=_ROUND + "run",
        old="steps=own.t, beta2",
        new="steps=1, beta2",
        options={"sent": "corrected"},
    ),
    Mutant(
        id="fed-lamb-sent-with-beta1",
        words="the second moment that is sent is corrected as if it had seen one step more",
        algorithms=("fed-lamb",),
        rule=_LAMB + "sent_moment",
        old="beta2, steps, sent",
        new="beta2, steps + 1, sent",
        options={"sent": "corrected"},
    ),
    Mutant(
        id="fed-lamb-sent-root",
        words="clients send the root of v",
        algorithms=("fed-ams",),
        rule=_LAMB + "sent_moment",
        old="return _corrected(v_i,",
        new="return _corrected(sqrt(v_i),",
    ),
    Mutant(
        id="fed-lamb-sent-always-corrected",
        words="the second moment is multiplied by 1 - beta2^T where it should be divided",
        algorithms=("fed-ams",),
        rule=_LAMB + "sent_moment",
        old="return _corrected(v_i, beta2, steps, sent is Sent.CORRECTED)",
        new="return v_i * (1 - beta2**steps)",
        options={"sent": "corrected"},
    ),
    Mutant(
        id="fed-lamb-no-maximum",
        words="the maximum is never taken: v_hat is the last mean",
        algorithms=_BOTH,
        rule=_MEAN + "moment_maximum",
        old="maximum(v_hat, moments.sum(axis=0) / clients)",
        new="moments.sum(axis=0) / clients",
    ),
    Mutant(
        id="fed-lamb-largest-client",
        words="the maximum over the clients instead of their mean",
        algorithms=_BOTH,
        rule=_MEAN + "moment_maximum",
        old="moments.sum(axis=0) / clients",
        new="greatest(moments)",
    ),
    Mutant(
        id="fed-lamb-sum-of-moments",
        words="the moments are added instead of averaged",
        algorithms=_BOTH,
        rule=_MEAN + "moment_maximum",
        old="moments.sum(axis=0) / clients",
        new="moments.sum(axis=0)",
    ),
    Mutant(
        id="fed-sgd-last-client",
        words="the last client's model survives",
        algorithms=("fed-sgd", *_BOTH),
        rule=_MEAN + "model_mean",
        old="models.sum(axis=0) / clients",
        new="models[-1]",
    ),
    Mutant(
        id="fed-sgd-first-twice",
        words="the first model counts twice",
        algorithms=("fed-sgd", *_BOTH),
        rule=_MEAN + "model_mean",
        old="models.sum(axis=0) / clients",
        new="(models.sum(axis=0) + models[0]) / (clients + 1)",
    ),
    Mutant(
        id="fed-sgd-median",
        words="the middle of the least and the greatest model instead of the mean",
        algorithms=("fed-sgd", *_BOTH),
        rule=_MEAN + "model_mean",
        old="models.sum(axis=0) / clients",
        new="(least(models) + greatest(models)) / 2",
    ),
    Mutant(
        id="fed-sgd-one-step",
        words="every client takes one step, as FedSGD of McMahan et al. (2017)",
        algorithms=("fed-sgd",),
        rule="fedspec.algorithms.fedsgd.step",
        old="range(T)",
        new="range(1)",
    ),
    Mutant(
        id="fed-sgd-weighted",
        words="models are weighted by sample sizes",
        algorithms=("fed-sgd",),
        rule="fedspec.algorithms.fedsgd.step",
        old="models, clients=len(plan.participants)",
        new="stack([x * n for x, n in zip(models, plan.examples, strict=True)]), clients=sum(plan.examples)",
    ),
    Mutant(
        id="fed-sgd-divided-by-all",
        words="the models are divided by the number of all clients",
        algorithms=("fed-sgd",),
        rule="fedspec.algorithms.fedsgd.step",
        old="clients=len(plan.participants)",
        new="clients=len(clients)",
    ),
)

MUTANTS = (*_PRINTED, *_ROUNDS)
