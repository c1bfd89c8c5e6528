"""Plot of a split: the number of each client's examples by class."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedspec.errors import FedspecError, PlanError, to_install
from fedspec_torch.data.labels import Indices, Labels, kinds_of


def picture(parts: Sequence[Indices], labels: Labels, path: str | Path) -> None:
    """Plot a split to a file: one bar for each client, whose height is its number of examples, coloured by class.

    Raises:
        PlanError: a client has an example that has no label.
        FedspecError: matplotlib isn't installed.
    """
    kinds, names = kinds_of("labels", labels)
    for i, part in enumerate(parts):
        if beyond := [int(at) for at in part if not 0 <= at < len(kinds)]:
            raise PlanError(
                f"parts: client {i} has example {beyond[0]}, but there are {len(kinds)} labels; give the labels of all "
                "examples"
            )
    try:
        # Without pyplot, which would choose a backend for the whole program.
        from matplotlib import colormaps
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ModuleNotFoundError as missing:
        raise FedspecError(f"picture needs matplotlib: {to_install('simulate', 'fedspec-torch')}") from missing
    name = "tab10" if len(names) <= 10 else "tab20" if len(names) <= 20 else "turbo"
    colours = colormaps[name](np.linspace(0, 1, len(names)) if name == "turbo" else np.arange(len(names)))
    figure = Figure(figsize=(10, 4), layout="constrained")
    ax = figure.subplots()
    counts = np.stack([np.bincount(kinds[part], minlength=len(names)) for part in parts])
    for kind, below in enumerate((np.cumsum(counts, 1) - counts).T):
        ax.bar(np.arange(len(parts)), counts[:, kind], bottom=below, color=colours[kind], label=str(names[kind]))
    ax.set(xlabel="client", ylabel="examples", xlim=(-0.6, len(parts) - 0.4))
    ax.grid(axis="y", alpha=0.25)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    if len(names) <= 20:
        figure.legend(loc="outside lower center", ncols=min(10, len(names)), frameon=False)
    figure.suptitle(f"{counts.sum()} examples of {len(parts)} clients, by class", fontsize=11)
    figure.savefig(path, dpi=120)
