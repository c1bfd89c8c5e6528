"""Mutants of clients whose changes have bounded length: normalised steps, clipping and its noise."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_STEP = "fedspec.client.normalised.normalised_sgd"
_ROUND = "fedspec.algorithms.normalised."
_NORMALISED = ("normalised-sgd", "fedavg-normalised")
_PRIVATE = "fedspec.algorithms.private.step"
_CLIENT = "clip(y - x, clip_norm=h.clip_norm)"
_NOISY = "noisy_mean(deltas, array(plan.noise, state.x), clip_norm=h.clip_norm, sigma=h.sigma)"

_normalised = partial(Mutant, algorithms=_NORMALISED, rule=_STEP, old="g / (norm(g) + eps)")
_round = partial(Mutant, algorithms=("fedavg-normalised",), rule=_ROUND + "step")
_clip = partial(
    Mutant,
    algorithms=("dp-fedavg",),
    rule="fedspec.mixing.private.clip",
    old="u * minimum(s, ratio(clip_norm, length))",
)
_noisy_mean = partial(
    Mutant,
    algorithms=("dp-fedavg",),
    rule="fedspec.mixing.private.noisy_mean",
    old="(total + sigma * clip_norm * noise) / len(deltas)",
)
_private = partial(Mutant, algorithms=("dp-fedavg",), rule=_PRIVATE)

MUTANTS = (
    _normalised(
        id="normalised-coordinates",
        words="each coordinate is divided by its own size",
        new="g / (maximum(g, -g) + eps)",
    ),
    _normalised(
        id="normalised-epsilon-inside-root",
        words="eps inside the root of the length",
        new="g / sqrt((g * g).sum() + eps)",
    ),
    _normalised(id="normalised-epsilon-absent", words="eps is left out", new="ratio(1, norm(g)) * g"),
    _normalised(
        id="normalised-squared", words="the gradient is divided by its squared length", new="g / (norm(g) ** 2 + eps)"
    ),
    _normalised(
        id="normalised-clips",
        words="only gradients longer than one are shortened",
        new="minimum(1, ratio(1, norm(g))) * g",
    ),
    _round(id="normalised-by-examples", words="the mean weighs by examples", old=", Weighting.UNIFORM", new=""),
    _round(id="normalised-one-step", words="every client takes one step", old="range(tau)", new="range(1)"),
    _round(
        id="normalised-server-rate",
        words="the server steps with the clients' rate",
        old="average(state.x, delta)",
        new="average(state.x, h.eta_l * delta)",
    ),
    _clip(
        id="clip-coordinates",
        words="each coordinate is clipped by itself",
        new="maximum(minimum(delta, clip_norm), -clip_norm)",
    ),
    _clip(id="clip-left-out", words="the changes are not clipped", new="delta"),
    _clip(id="clip-always", words="short changes are stretched to length c", new="ratio(clip_norm, length) * u"),
    _clip(
        id="clip-squared",
        words="the squared length is compared with c",
        new="minimum(1, ratio(clip_norm, length**2)) * delta",
    ),
    _clip(
        id="clip-drops", words="changes longer than c are left out", new="where_less(clip_norm, length, 0, 1) * delta"
    ),
    _noisy_mean(id="noise-unscaled", words="the noise is not scaled by c", new="(total + sigma * noise) / len(deltas)"),
    _noisy_mean(
        id="noise-undivided",
        words="the noise is not divided by |S|",
        new="total / len(deltas) + sigma * clip_norm * noise",
    ),
    _noisy_mean(
        id="noise-divided-twice",
        words="the noise is divided by |S| twice",
        new="(total + sigma * clip_norm * noise / len(deltas)) / len(deltas)",
    ),
    _noisy_mean(
        id="noise-variance",
        words="sigma^2 stands for sigma",
        new="(total + sigma**2 * clip_norm * noise) / len(deltas)",
    ),
    _noisy_mean(id="noise-sum", words="the noisy sum is not divided by |S|", new="total + sigma * clip_norm * noise"),
    _private(
        id="private-clips-the-mean",
        words="the noisy mean is clipped, too",
        old=_NOISY,
        new=f"clip({_NOISY}, clip_norm=h.clip_norm)",
    ),
    _private(
        id="private-clips-models",
        words="the local models are clipped instead of their changes",
        old=_CLIENT,
        new="clip(y, clip_norm=h.clip_norm) - x",
    ),
    _private(
        id="private-first-noise",
        words="one draw of noise serves all coordinates",
        old="array(plan.noise, state.x)",
        new="array(plan.noise[:1] * len(state.x), state.x)",
    ),
)
