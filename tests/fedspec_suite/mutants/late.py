"""Mutants of what becomes of late updates: versions, buffers, weights by age, models that are mixed."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_A = "fedspec.algorithms."
_M = "fedspec.mixing.arrivals."

_BUFFERED = ("cc-fedavg", "cc-fedsgd", "cc-fedavgm", "cc-fedadagrad", "cc-fedadam", "cc-fedams", "fedbuff")
_LATE = (*_BUFFERED, "fedasync")

_downloaded = partial(Mutant, algorithms=_LATE, rule="fedspec.population.downloaded", old="versions[-1 - delay]")

_VERSIONS = (
    _downloaded(
        id="late-by-one-more",
        words="every update is one version older than its delay says",
        new="versions[max(-2 - delay, -len(versions))]",
    ),
    _downloaded(id="late-from-the-first", words="every update begins at the first version", new="versions[0]"),
    _downloaded(
        id="late-from-the-present",
        words="every update begins at the present version, whatever its delay",
        new="versions[-1]",
    ),
    _downloaded(id="late-counted-forwards", words="the delay is counted from the first version", new="versions[delay]"),
    _downloaded(
        id="late-by-one-at-most",
        words="only the last two versions are kept",
        new="versions[-1 - min(delay, len(versions) - 1, 1)]",
    ),
)

_over_all_clients = partial(
    Mutant,
    words="the buffer's sum is divided by the number of clients, not of updates",
    old="collected(state.pending, deltas,",
    new="collected(state.pending, [delta * h.buffer / len(clients) for delta in deltas],",
)

_BUFFER = (
    Mutant(
        id="buffer-first-lost",
        words="the first update of a buffer is lost, the last counts twice",
        algorithms=_BUFFERED,
        rule=_A + "buffered.collected",
        old="stack(pending)",
        new="stack((*pending[1:], pending[-1]))",
    ),
    Mutant(
        id="buffer-one-less",
        words="the server moves one update too early",
        algorithms=_BUFFERED,
        rule=_A + "buffered.collected",
        old="len(pending) < m",
        new="len(pending) + 1 < m",
    ),
    Mutant(
        id="buffer-not-emptied",
        words="the buffer is not emptied",
        algorithms=_BUFFERED,
        rule=_A + "buffered.collected",
        old="return (), ",
        new="return pending, ",
    ),
    Mutant(
        id="buffer-last-only",
        words="only the last update of a buffer counts",
        algorithms=_BUFFERED,
        rule=_A + "buffered.collected",
        old="stack(pending)",
        new="stack(pending[-1:] * len(pending))",
    ),
    Mutant(
        id="buffer-summed",
        words="the buffer is summed, not averaged",
        algorithms=_BUFFERED,
        rule=_A + "buffered.collected",
        old="weighted_mean(",
        new="len(pending) * weighted_mean(",
    ),
    _over_all_clients(
        id="cc-fedavg-over-all-clients",
        algorithms=("cc-fedavg",),
        rule=_A + "client_centric.client_centric",
    ),
    _over_all_clients(
        id="cc-fedsgd-over-all-clients",
        algorithms=("cc-fedsgd",),
        rule=_A + "client_centric.client_centric",
    ),
    _over_all_clients(
        id="cc-fedadam-over-all-clients",
        algorithms=("cc-fedadam",),
        rule=_A + "client_centric.client_centric",
    ),
    _over_all_clients(
        id="fedbuff-over-all-clients",
        algorithms=("fedbuff",),
        rule=_A + "fedbuff.step",
    ),
)

_POLYNOMIAL, _HINGE = {"staleness": "polynomial"}, {"staleness": "hinge"}

_MIXING = (
    Mutant(
        id="discount-exponent-doubled",
        words="the exponent of the staleness is twice a",
        algorithms=("fedasync", "fedbuff"),
        rule=_M + "discount",
        old="late ** (twice_a // 2) * (sqrt(late) if twice_a % 2 else 1)",
        new="late**twice_a",
        options=_POLYNOMIAL,
    ),
    Mutant(
        id="discount-exponent-floored",
        words="the exponent of the staleness is rounded down",
        algorithms=("fedasync", "fedbuff"),
        rule=_M + "discount",
        old="(sqrt(late) if twice_a % 2 else 1)",
        new="1",
        options=_POLYNOMIAL,
    ),
    Mutant(
        id="discount-inverted",
        words="late updates weigh more",
        algorithms=("fedbuff",),
        rule=_M + "discount",
        old="mix / (late **",
        new="mix * (late **",
        options=_POLYNOMIAL,
    ),
    Mutant(
        id="hinge-from-zero",
        words="the hinge falls from u = 0 on, not from b",
        algorithms=("fedasync", "fedbuff"),
        rule=_M + "discount",
        old="(hinge_a * (u - hinge_b) + 1)",
        new="(hinge_a * u + 1)",
        options=_HINGE,
    ),
    Mutant(
        id="hinge-jumps",
        words="the hinge lacks its 1 and jumps at b",
        algorithms=("fedbuff",),
        rule=_M + "discount",
        old="(hinge_a * (u - hinge_b) + 1)",
        new="(hinge_a * (u - hinge_b))",
        options=_HINGE,
    ),
    Mutant(
        id="fedasync-all-begin-at-0",
        words="every update counts as begun at the first version",
        algorithms=("fedasync",),
        rule=_A + "fedasync.step",
        old="delay=arrival.delay, **h.of(discount)",
        new="delay=len(state.versions) - 1, **h.of(discount)",
        options=_POLYNOMIAL,
    ),
    Mutant(
        id="fedasync-exchanged",
        words="mix and 1 - mix are exchanged",
        algorithms=("fedasync",),
        rule=_M + "mixed",
        old="(1 - mix) * x + mix * x_i",
        new="mix * x + (1 - mix) * x_i",
    ),
    Mutant(
        id="fedasync-adds",
        words="the arriving model is added, and the server's keeps its whole weight",
        algorithms=("fedasync",),
        rule=_M + "mixed",
        old="(1 - mix) * x",
        new="x",
    ),
    Mutant(
        id="fedasync-forgets",
        words="the arriving model takes the server's place",
        algorithms=("fedasync",),
        rule=_M + "mixed",
        old="(1 - mix) * x + mix * x_i",
        new="0 * x + x_i",
    ),
    Mutant(
        id="fedasync-changes",
        words="changes are mixed in, not models",
        algorithms=("fedasync",),
        rule=_A + "fedasync.step",
        old="mixed(state.x, x_i,",
        new="mixed(state.x, state.x + x_i - state.versions[-1 - arrival.delay],",
    ),
    Mutant(
        id="fedasync-old-server",
        words="the arriving model is mixed with the version it began from",
        algorithms=("fedasync",),
        rule=_A + "fedasync.step",
        old="mixed(state.x, x_i,",
        new="mixed(state.versions[-1 - arrival.delay], x_i,",
    ),
    Mutant(
        id="fedasync-unpulled",
        words="the proximal term is left out",
        algorithms=("fedasync",),
        rule=_A + "fedasync.step",
        old="mu=h.mu",
        new="mu=h.mu * 0",
    ),
)

MUTANTS = (*_VERSIONS, *_BUFFER, *_MIXING)
