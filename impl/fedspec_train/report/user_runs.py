"""Plot of runs that a user played in Python on their own federation."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, fields
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError, ParameterError, to_install
from fedspec.hyper import plays_part
from fedspec_train.report import picture
from fedspec_train.report.curves import AGAINST, OF_CLIENTS, PANELS
from fedspec_train.report.option_differences import options_of


def draw_runs(
    runs: Mapping[str, Any],
    file: str | Path,
    *,
    against: Sequence[str] = ("rounds", "floats"),
    panels: Sequence[str] | None = None,
    tuned: Collection[str] = (),
    data: str = "own data",
    model: str | None = None,
) -> None:
    """Plot runs to a file: one line for each name, the median over runs that differ in their seeds.

    Args:
        runs: by name, a run of :func:`fedspec_torch.simulate`, or a list of such runs. A name that is an algorithm's id
            has that algorithm's line style in every picture; any other name has its own style.
        file: ``.png``, ``.svg`` or ``.pdf``.
        against: ``rounds``, ``floats``, ``seconds``: the quantities on the horizontal axis, a column of panels for
            each.
        panels: ``loss``, ``test_loss``, ``accuracy``, names of metrics, or, for runs with ``client_tests``,
            ``clients_loss`` and ``clients_accuracy``, a row for each; None: test loss and accuracy if the runs have
            them, else the training loss.
        tuned: the names of runs whose settings were tuned for this task; the caption marks the other runs.
        data: name of the data in the caption.
        model: name of the model in the caption; None: the name of its class.

    Raises:
        ParameterError: a run has no rounds, or lacks the requested quantities.
        FedspecError: matplotlib isn't installed.
    """
    try:
        import_module("matplotlib")
    except ModuleNotFoundError as missing:
        raise FedspecError(f"draw_runs needs matplotlib: {to_install('simulate', 'fedspec-torch')}") from missing
    if not isinstance(runs, Mapping):
        raise ParameterError(f"runs: got {type(runs).__name__}; give them by name, such as {{'fedavg': run}}")
    if unknown := [name for name in tuned if name not in runs]:
        raise ParameterError(
            f"tuned: got {', '.join(unknown)}, which isn't one of the runs; they are {', '.join(runs)}"
        )
    each = {name: [*some] if isinstance(some, list | tuple) else [some] for name, some in runs.items()}
    played = [run for some in each.values() for run in some]
    if not played or not all(run.history for run in played):
        empty = [name for name, some in each.items() if not all(run.history for run in some)]
        raise ParameterError(f"runs: no round was played{' by ' + ', '.join(empty) if empty else ''}; play some first")
    if Path(file).suffix.lower() not in picture.KINDS:
        raise ParameterError(f"file: got {str(file)!r}; pictures are written as {', '.join(picture.KINDS)}")
    _check("against", against, [*AGAINST])
    metrics = dict.fromkeys(name for run in played for done in run.history for name in done.metrics)
    if panels is None:
        tested = [
            n for n in ("test_loss", "accuracy") if any(getattr(d, n) is not None for r in played for d in r.history)
        ]
        panels = tested or ["loss"]
    by_client = any(done.clients for run in played for done in run.history)
    _check("panels", panels, [*(n for n in PANELS if by_client or not n.startswith(OF_CLIENTS)), *metrics])
    records = [_record(name, run) for name, some in each.items() for run in some]
    first = played[0].federation
    alike, unlike = _apart(played)
    for record, differs in zip(records, unlike, strict=True):
        record["options"] |= differs
    task = {"data": data, "model": model or type(first.model).__name__, "said": "; ".join(alike)}
    picture.draw(records, task, Path(file), against=against, panels=panels, tuned=tuned)


def _check(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    if isinstance(asked, str) or not asked:
        raise ParameterError(f"{what}: got {asked!r}; give a list of {', '.join(known)}")
    for name in asked:
        if name not in known:
            raise ParameterError(f"{what}: got {name!r}; known of these runs: {', '.join(known)}")


def _record(name: str, run: Any) -> dict[str, Any]:
    """A run as :func:`picture.draw` reads it."""
    chosen = {f.name: str(getattr(run.h, f.name)) for f in fields(run.h)}
    told = [n for n in chosen if n not in _in_words().rates_of(run) and plays_part(run.h.plays, n, chosen)]
    numbers = {n: getattr(run.h, n) for n in told}
    return {
        "algorithm": name,
        "hyper": {n: v for n, v in numbers.items() if isinstance(v, Real)},
        "options": options_of(run),
        "parameters": len(run.federation.x0),
        "asked": run.rounds,
        "times": [*run.times],
        "rounds": [asdict(done) for done in run.history],
    }


def _apart(runs: Sequence[Any]) -> tuple[list[str], list[dict[str, str]]]:
    """Describe the settings of runs: clauses that all runs share, and by name the clauses that differ."""
    told = [_in_words().told_of(run) for run in runs]
    rates = [_in_words().rates_of(run) for run in runs]
    for said, by_round, run in zip(told, rates, runs, strict=True):
        said |= {n: by_round.get(n) or f"{getattr(run.h, n):g}" for n in (*RATES, *by_round) if hasattr(run.h, n)}
    alike = {n for n in told[0] if {said.get(n) for said in told} == {told[0][n]}}
    # Numbers that all have alike are said among the others.
    shown = {
        n: v for n, v in told[0].items() if n in alike and v not in ("", "none") and (n not in RATES or n in rates[0])
    }
    words = [f"{v} {n}" if n in ("clients", "in a round") else f"{n} {v}" for n, v in shown.items()]
    return words, [{n: v for n, v in said.items() if n not in alike} for said in told]


RATES = ("eta_l", "eta")
"""Hyper-parameters that the plot names if the runs differ in them, or if they change by round."""


def _in_words() -> Any:
    return import_module("fedspec_torch.run.descriptions")
