"""Chart of certified worst cases against the learning rate. matplotlib is imported at the first drawing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError, ParameterError
from fedspec_suite.report.styles import style_of

SUFFIXES = (".svg", ".png", ".pdf")


def drawing(path: Path | None) -> Callable[[Sequence[dict[str, Any]]], None] | None:
    """Function that draws results into a file; None if no path is given.

    Raises:
        ParameterError: the file's suffix is unknown, or its folder doesn't exist.
        FedspecError: matplotlib isn't installed.
    """
    if path is None:
        return None
    if path.suffix not in SUFFIXES:
        raise ParameterError(f"--chart {path}: expected a name that ends in {', '.join(SUFFIXES)}")
    if not path.resolve().parent.is_dir():
        raise ParameterError(f"--chart {path}: there is no folder {path.resolve().parent}")
    if find_spec("matplotlib") is None:
        raise FedspecError(f"--chart {path}: it needs matplotlib; pip install matplotlib")
    return lambda told: draw(told, path)


def proved(told: dict[str, Any]) -> Fraction:
    """Certified number of a result: a squared distance, or the contraction factor of a Lyapunov function."""
    return Fraction(told["factor" if "factor" in told else "bound"])


def decimal(number: str | Fraction) -> str:
    """Format a proved number with 12 digits; with fewer it might be rounded below the proved bound."""
    return f"{float(Fraction(number)):.12g}"


def rate_name(told: dict[str, Any]) -> str:
    """Name of the learning rate in a result: ``eta_l`` for the clients', ``eta`` if there is only the server's."""
    return "eta_l" if "eta_l" in told["numbers"] else "eta"


def draw(told: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw the proved bound at each rate, the smallest ringed, and the distances that functions attain, if any.

    Args:
        told: the output of ``fedspec worst-case --json``, one entry for each rate.
        path: the path of the file.
    """
    import matplotlib
    from matplotlib.figure import Figure

    one = told[0]
    falls = "factor" in one
    name = rate_name(one)
    points = sorted(((Fraction(t["numbers"][name]), proved(t), t) for t in told), key=lambda point: point[0])
    rates, heights = [float(rate) for rate, _, _ in points], [float(bound) for _, bound, _ in points]
    style = style_of(one["algorithm"])
    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.plot(rates, heights, **style.line | {"marker": "o"}, label="proved: never above")
    reached = [(float(rate), float(Fraction(t["reached"]))) for rate, _, t in points if t.get("reached")]
    if reached:
        axes.plot(
            *zip(*reached, strict=True), ls="none", marker="_", ms=14, color="black", label="reached by functions"
        )
    best = min(range(len(points)), key=lambda k: heights[k])
    axes.plot(
        rates[best],
        heights[best],
        "o",
        ms=13,
        mfc="none",
        mec="black",
        label=f"least of these: {decimal(points[best][1])}",
    )
    axes.axhline(1, color="grey", lw=0.8)
    axes.set_xscale("log")
    axes.set_xticks(rates, [str(rate) for rate, _, _ in points], minor=False)
    axes.minorticks_off()
    whose = "local" if name == "eta_l" else "server's"
    axes.set(xlabel=f"{whose} rate {name}, in units of 1/L", ylim=(0, None))
    steps = f"steps {', '.join(map(str, one['steps']))}" if "steps" in one else f"alpha = {one['alpha']}"
    after = "" if falls else f", zeta$^2$ = {one['zeta2']}" + (f", {one['rounds']} rounds" if one["rounds"] > 1 else "")
    what = "factor of a form that falls" if falls else "$|x - x^*|^2$ from distance 1"
    axes.set_title(f"{one['algorithm']}, {steps}{after}: {what}", loc="left", size=10)
    axes.legend(frameon=False, fontsize=9)
    with matplotlib.rc_context({"svg.hashsalt": "worst cases"}):
        metadata: Any = {"Date": None, "Creator": None} if path.suffix == ".svg" else None
        figure.savefig(path, metadata=metadata)
