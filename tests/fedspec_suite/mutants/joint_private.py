"""Mutants of private joint adaptivity, and of clipped gradients."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_STEP = "fedspec.algorithms.joint_private.step"
_SOLVER = "fedspec.algorithms.joint_private.solver"
_CHANGE = "clip(change, clip_norm=h.clip_norm)"
_NOISE = "array(plan.noise, state.x)"
_GRADIENT = "clip(g, clip_norm=h.clip_norm)"

MUTANTS = (
    *(
        Mutant(id=f"dp-joint-{slug}", words=words, algorithms=("dp-joint",), rule=_STEP, old=old, new=new)
        for slug, words, old, new in (
            ("unclipped", "the changes are not clipped", _CHANGE, "change"),
            (
                "clips-models",
                "the local models are clipped instead of their changes",
                _CHANGE,
                "clip(y.x, clip_norm=h.clip_norm) - x",
            ),
            ("noise-undivided", "the noise is not divided by |S|", _NOISE, f"len(deltas) * {_NOISE}"),
            ("noise-of-each", "every client adds the noise", _NOISE, f"len(deltas) ** 2 * {_NOISE}"),
            (
                "first-noise",
                "one draw of noise serves all coordinates",
                _NOISE,
                "array(plan.noise[:1] * len(state.x), state.x)",
            ),
            ("noise-unscaled", "the noise is not scaled by c", _NOISE, f"{_NOISE} / h.clip_norm"),
            (
                "servers-exchanged",
                "the server's AdaGrad and Adam are exchanged",
                "beta2=h.beta2, server=h.server",
                "beta2=h.beta2 or 0, server=Adaptivity('adam' if h.server is Adaptivity.ADAGRAD else 'adagrad')",
            ),
        )
    ),
    *(
        Mutant(
            id=f"dp-joint-gradients-{slug}",
            words=words,
            algorithms=("dp-joint",),
            rule=_STEP,
            old=old,
            new=new,
            options={"clipped": "gradients"},
        )
        for slug, words, old, new in (
            ("unclipped", "the gradients are not clipped", _GRADIENT, "g"),
            (
                "of-the-round",
                "a gradient is clipped to its share of c among the local steps",
                _GRADIENT,
                "clip(g, clip_norm=h.clip_norm / tau)",
            ),
        )
    ),
    *(
        Mutant(
            id=f"dp-fedavg-gradients-{slug}",
            words=words,
            algorithms=("dp-fedavg",),
            rule="fedspec.algorithms.private.step",
            old=old,
            new=new,
            options={"clipped": "gradients"},
        )
        for slug, words, old, new in (
            (
                "unclipped",
                "the gradients are not clipped",
                "clip(gradient(k, y), clip_norm=h.clip_norm)",
                "gradient(k, y)",
            ),
        )
    ),
    *(
        Mutant(
            id=f"dp-joint-{slug}",
            words=words,
            algorithms=("dp-joint",),
            rule=_SOLVER,
            old=old,
            new=new,
            options=options,
        )
        for slug, words, old, new, options in (
            (
                "nothing-sent",
                "the server's second moment is not sent",
                "zeros(x) + sent",
                "zeros(x)",
                {"preconditioner": "sent"},
            ),
            (
                "root-sent",
                "the root of it is sent",
                "zeros(x) + sent",
                "zeros(x) + sqrt(sent)",
                {"preconditioner": "sent"},
            ),
            (
                "decays-of-the-server",
                "the clients use the server's decays",
                '"beta1": h.beta1_l, "beta2": h.beta2_l',
                '"beta1": h.beta1, "beta2": h.beta2 or h.beta2_l',
                {"client": "adam"},
            ),
            (
                "stabiliser-of-the-server",
                "the clients use the server's tau for eps",
                '"eps": h.eps',
                '"eps": h.tau',
                {},
            ),
        )
    ),
)
