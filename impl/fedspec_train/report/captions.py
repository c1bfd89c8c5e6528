"""Captions and labels of plots of runs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from fedspec_train.report.curves import OF_CLIENTS, PANELS
from fedspec_train.report.option_differences import unlike

FEW = 5
"""Number of seeds from which a band shows the middle half: of five, the quartiles are the second and the fourth."""

ALIKE = {
    "clients": "{} clients",
    "alpha": "Dirichlet({:g}) by label",
    "cohort": "{} in a round where an algorithm does not take all",
    "steps": "local steps {}",
    "batch": "batch {}",
    "fall": "{}",
    "clip": "gradients clipped to {:g}",
    "clip_value": "entries of gradients clamped to magnitude {:g}",
    "weight_decay": "weight decay {:g}",
    "accumulate": "gradients of {} minibatches",
    "client_tests": "{:g} of each client's examples held out as its own test set",
    "said": "{}",
}
"""Phrases for a caption by the field of a task's record; missing fields are left out."""


def band(seeds: int) -> tuple[float, float]:
    """Return the quantiles that bound a band over seeds: all of few seeds, the middle half of many."""
    return (0.25, 0.75) if seeds >= FEW else (0.0, 1.0)


def name(algorithm: str, of: Collection[str], tuned: Collection[str]) -> str:
    """Return the label of a line: the algorithm, marked "(not tuned)" if only other lines are tuned."""
    mixed = algorithm not in tuned and any(other in tuned for other in of)
    return f"{algorithm} (not tuned)" if mixed else algorithm


def caption(
    task: Mapping[str, Any],
    of: Mapping[str, Sequence[Mapping[str, Any]]],
    against: Sequence[str],
    tuned: Collection[str],
    panels: Collection[str] = (),
) -> str:
    """Return the caption: shared settings, the meaning of lines and bands, and the units.

    Args:
        task: the settings that all runs share.
        of: the runs of each algorithm.
        against: the quantity on the horizontal axis.
        tuned: the algorithms whose settings were chosen for this task.
        panels: the quantities on the vertical axis.
    """
    own = "Of clients' results: lines are the mean over clients, bands reach to the mean of the worst tenth of them."
    by_client = [own] if any(panel in PANELS and panel.startswith(OF_CLIENTS) for panel in panels) else []
    return " ".join((*_constant(task, of), *_lines(of), *by_client, *_units(of, against), _settings(of, tuned)))


def _constant(task: Mapping[str, Any], of: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    runs = [run for some in of.values() for run in some]
    large = f"of {runs[0]['parameters']:,} parameters" if "parameters" in runs[0] else ""
    said = [", ".join(filter(None, [task["data"], " ".join(filter(None, [task["model"], large]))]))]
    said += [words.format(task[n]) for n, words in ALIKE.items() if task.get(n) is not None]
    said += [f"{n} = {v:g}" if isinstance(v, float) else f"{n} = {v}" for n, v in _alike(runs).items()]
    yield ("Alike for all: " if len(of) > 1 else "") + "; ".join(said) + "."
    differ = unlike(runs)
    if own := list(_own(of, {clause.partition(":")[0] for clause in differ})):
        yield f"Their own: {'; '.join(own)}."
    if differ:
        yield f"Not alike: {'; '.join(differ)}."


def _alike(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Settings that every run has, with one value."""
    first, *others = (run["hyper"] for run in runs)
    return {n: v for n, v in first.items() if all(n in other and other[n] == v for other in others)}


def _own(of: Mapping[str, Sequence[Mapping[str, Any]]], told: Collection[str]) -> Iterator[str]:
    """Yield the settings of each algorithm that differ, or that differ between seeds."""
    shared = {*_alike([run for some in of.values() for run in some]), *told}
    for algorithm, some in of.items():
        found: dict[str, list[Any]] = {}
        for name, value in (item for run in some for item in run["hyper"].items() if item[0] not in shared):
            if value not in found.setdefault(name, []):
                found[name].append(value)
        words = (
            f"{n} = {' or '.join(f'{v:g}' if isinstance(v, float) else str(v) for v in vs)}" for n, vs in found.items()
        )
        if found:
            yield f"{algorithm} {', '.join(words)}"


def _lines(of: Mapping[str, Sequence[Mapping[str, Any]]]) -> Iterator[str]:
    counts = {len(some) for some in of.values()}
    if counts == {1}:
        yield "One seed."
    else:
        count = f"{min(counts)} to {max(counts)}" if len(counts) > 1 else f"{max(counts)}"
        edges = "the middle half of them" if band(max(counts)) != (0.0, 1.0) else "from the least to the greatest"
        yield f"Lines: the median of {count} seeds at each round; bands: {edges}."
    for algorithm, some in of.items():
        done, asked = min(len(run["rounds"]) for run in some), max(run["asked"] for run in some)
        if done < asked:
            yield f"{algorithm} ended after {done} of {asked} rounds."


def _units(of: Mapping[str, Sequence[Mapping[str, Any]]], against: Sequence[str]) -> Iterator[str]:
    if "floats" in against:
        yield "Floats: numbers sent to clients, from them and between them."
    if "seconds" in against:
        yield "Seconds: measured on one machine, with evaluation, and in the first round with choosing how to compute."
        left = [a for a, some in of.items() if any(len(run["times"]) < len(run["rounds"]) for run in some)]
        if left:
            yield f"Of {', '.join(left)} not all rounds were timed."


def _settings(of: Collection[str], tuned: Collection[str]) -> str:
    chosen = [algorithm for algorithm in of if algorithm in tuned]
    if not chosen:
        return "Nobody tuned the settings."
    if len(chosen) == len(of):
        return "Settings are the best of a grid for each."
    return f"Settings of {', '.join(chosen)} are the best of a grid for each, others are not tuned."


def wrapped(text: str, size: float, width: float) -> str:
    """Break text into lines of at most ``width`` points.

    Args:
        text: words between spaces.
        size: size of the letters, in points.
        width: width of a line, in points.
    """
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if lines[-1] and length(longer, size) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return "\n".join(lines)


def length(text: str, size: float) -> float:
    """Return the width of a line of text in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextToPath

    return float(TextToPath().get_text_width_height_descent(text, FontProperties(size=size), False)[0])
