"""Mutants of clients whose changes have bounded length: normalised steps, clipping and its noise."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_STEP = "fedspec.client.normalised.normalised_sgd"
_ROUND = "fedspec.algorithms.normalised."
_NORMALISED = ("normalised-sgd", "fedavg-normalised")
_PRIVATE = "fedspec.algorithms.private.step"
_CLIENT = "clip(y - x, clip_norm=h.clip_norm)"
_NOISY = "noisy_mean(deltas, array(plan.noise, state.x), clip_norm=h.clip_norm, sigma=h.sigma)"

MUTANTS = (
    *(
        Mutant(
            id=f"normalised-{slug}", words=words, algorithms=_NORMALISED, rule=_STEP, old="g / (norm(g) + eps)", new=new
        )
        for slug, words, new in (
            ("coordinates", "each coordinate is divided by its own size", "g / (maximum(g, -g) + eps)"),
            ("epsilon-inside-root", "eps inside the root of the length", "g / sqrt((g * g).sum() + eps)"),
            ("epsilon-absent", "eps is left out", "ratio(1, norm(g)) * g"),
            ("squared", "the gradient is divided by its squared length", "g / (norm(g) ** 2 + eps)"),
            ("clips", "only gradients longer than one are shortened", "minimum(1, ratio(1, norm(g))) * g"),
        )
    ),
    *(
        Mutant(
            id=f"normalised-{slug}",
            words=words,
            algorithms=("fedavg-normalised",),
            rule=_ROUND + function,
            old=old,
            new=new,
        )
        for slug, words, function, old, new in (
            ("by-examples", "the mean weighs by examples", "step", ", Weighting.UNIFORM", ""),
            ("one-step", "every client takes one step", "step", "range(tau)", "range(1)"),
            (
                "server-rate",
                "the server steps with the clients' rate",
                "step",
                "average(state.x, delta)",
                "average(state.x, h.eta_l * delta)",
            ),
        )
    ),
    *(
        Mutant(
            id=f"clip-{slug}",
            words=words,
            algorithms=("dp-fedavg",),
            rule="fedspec.mixing.private.clip",
            old="delta * minimum(1, ratio(clip_norm, length))",
            new=new,
        )
        for slug, words, new in (
            (
                "coordinates",
                "each coordinate is clipped by itself",
                "maximum(minimum(delta, clip_norm), -clip_norm)",
            ),
            ("left-out", "the changes are not clipped", "delta"),
            ("always", "short changes are stretched to length c", "ratio(clip_norm, length) * delta"),
            ("squared", "the squared length is compared with c", "minimum(1, ratio(clip_norm, length**2)) * delta"),
            ("drops", "changes longer than c are left out", "where_less(clip_norm, length, 0, 1) * delta"),
        )
    ),
    *(
        Mutant(
            id=f"noise-{slug}",
            words=words,
            algorithms=("dp-fedavg",),
            rule="fedspec.mixing.private.noisy_mean",
            old="(total + sigma * clip_norm * noise) / len(deltas)",
            new=new,
        )
        for slug, words, new in (
            ("unscaled", "the noise is not scaled by c", "(total + sigma * noise) / len(deltas)"),
            ("undivided", "the noise is not divided by |S|", "total / len(deltas) + sigma * clip_norm * noise"),
            (
                "divided-twice",
                "the noise is divided by |S| twice",
                "(total + sigma * clip_norm * noise / len(deltas)) / len(deltas)",
            ),
            ("variance", "sigma^2 stands for sigma", "(total + sigma**2 * clip_norm * noise) / len(deltas)"),
            ("sum", "the noisy sum is not divided by |S|", "total + sigma * clip_norm * noise"),
        )
    ),
    *(
        Mutant(id=f"private-{slug}", words=words, algorithms=("dp-fedavg",), rule=_PRIVATE, old=old, new=new)
        for slug, words, old, new in (
            (
                "clips-the-mean",
                "the noisy mean is clipped, too",
                _NOISY,
                f"clip({_NOISY}, clip_norm=h.clip_norm)",
            ),
            (
                "clips-models",
                "the local models are clipped instead of their changes",
                _CLIENT,
                "clip(y, clip_norm=h.clip_norm) - x",
            ),
            (
                "first-noise",
                "one draw of noise serves all coordinates",
                "array(plan.noise, state.x)",
                "array(plan.noise[:1] * len(state.x), state.x)",
            ),
        )
    ),
)
