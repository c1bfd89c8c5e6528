"""The picture of runs that were played in Python: what it draws is what they have told."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from matplotlib.figure import Figure
from torch import nn

from fedspec.errors import FedspecError, ParameterError
from fedspec_torch import Federation, by_round, cohorts, each_round, epochs, exchanges, simulate
from fedspec_torch.recipes import recipe
from fedspec_train import draw_runs
from fedspec_train.report import recipe_picture


def played(
    algorithm: str = "fedavg", seed: int = 0, rounds: int = 3, tested: bool = True, ends: int = 3, **more: Any
) -> Any:
    drawn = torch.Generator().manual_seed(4)
    data = [(torch.rand(6, 3, generator=drawn), torch.arange(6) % 2) for _ in range(4)]
    torch.manual_seed(0)
    fed = Federation(nn.Linear(3, 2), nn.functional.cross_entropy, data, batch_size=2, seed=seed)
    if tested:
        more = {"test": data[0], "metrics": {"norm": lambda output, targets: output.norm()}} | more
    more = {"plan": cohorts(2, steps=2, seed=seed), **({} if "rates" in more else {"eta_l": 0.3}), **more}
    run = simulate(algorithm, fed, rounds=3, **more)
    for _ in range(ends):
        run.step()
    return run


def drawn(monkeypatch: pytest.MonkeyPatch, runs: dict[str, Any], **asked: Any) -> Any:
    """The figure that would be written."""
    figures: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *where, **how: figures.append(figure))
    draw_runs(runs, "x.png", **asked)
    return figures[0]


def caption(monkeypatch: pytest.MonkeyPatch, runs: dict[str, Any], **asked: Any) -> str:
    """What is written under the figure."""
    return said_in(drawn(monkeypatch, runs, **asked))


def said_in(figure: Any) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def test_its_lines_are_medians_of_what_the_runs_have_told(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"fedavg": [played(seed=s) for s in range(3)], "mine": played("fedprox", mu=0.1)}
    figure = drawn(monkeypatch, runs, against=["rounds"], panels=["test_loss", "norm", "loss"], model="a line")
    for axes, name in zip(figure.axes, ("test_loss", "norm", "loss"), strict=True):

        def told(done: Any, name: str = name) -> float:
            return float(done.metrics["norm"] if name == "norm" else getattr(done, name))

        first, second = axes.get_lines()
        assert [*first.get_xdata()] == [1, 2, 3]
        want = [statistics.median(told(run.history[r]) for run in runs["fedavg"]) for r in range(3)]
        assert [*first.get_ydata()] == pytest.approx(want)
        assert [*second.get_ydata()] == pytest.approx([told(done) for done in runs["mine"].history])
    said = said_in(figure)
    assert "own data, a line of 8 parameters; 4 clients; 2 in a round; local steps 2; batch 2; eta_l = 0.3" in said
    assert "Nobody tuned" in said


def test_who_is_not_tuned_is_marked_and_what_there_is_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"fedavg": played(tested=False), "fedprox": played("fedprox", mu=0.1, tested=False)}
    figure = drawn(monkeypatch, runs, tuned=["fedprox"])
    assert [axes.get_ylabel() for axes in figure.axes] == ["training loss"] * 2
    assert {line.get_label() for line in figure.axes[0].get_lines()} == {"fedavg (not tuned)", "fedprox"}


def test_options_that_are_not_alike_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What changes are weighted by differs between canonical readings, and nothing else would show it."""
    given = {"eta": 0.1, "beta1": 0.9, "beta2": 0.99, "tau": 0.1, "v0": 0.01}
    runs = {"fedavg": played(), "fedprox": played("fedprox", mu=0.1), "fedadam": played("fedadam", **given)}
    said = caption(monkeypatch, runs)
    assert "Not alike: weights: examples in fedavg, fedprox; uniform in fedadam; eta: 1 in" in said
    runs["fedadam"] = played("fedadam", weights="examples", **given)
    assert "Not alike: eta: 1 in fedavg, fedprox; 0.1 in fedadam." in caption(monkeypatch, runs)


@pytest.mark.table(1)
def test_cohorts_steps_and_rates_are_told_where_they_differ_and_where_not(monkeypatch: pytest.MonkeyPatch) -> None:
    falls = {"rates": {"eta_l": by_round.cosine(0.3, 10)}}
    alike = caption(
        monkeypatch, {a: played(a, plan=cohorts(None, steps=(1, 4)), **falls) for a in ("fedavg", "scaffold")}
    )
    assert "4 clients; all in a round; local steps 1 to 4, drawn once for each client; batch 2" in alike
    assert "; eta_l cosine(0.3, 10, 0.0)" in alike and "eta_l = " not in alike and "0.3 in" not in alike
    runs = {
        "fedavg": played(plan=cohorts(3, steps=epochs(2, batch_size=2))),
        "dsgd": played("dsgd", plan=exchanges(steps=2)),
        "mine": played(plan=cohorts(3, steps=each_round(1, 4)), rates={"eta_l": lambda r: 0.3 / (1 + r)}),
    }
    unlike = caption(monkeypatch, runs)
    assert "in a round: 3 in fedavg, mine; all along a ring in dsgd; " in unlike
    assert "local steps: those of 2 epochs in fedavg; 2 in dsgd; 1 to 4, drawn in each round in mine; " in unlike
    assert "eta_l: 0.3 in fedavg, dsgd; by round, 0.3 at first and 0.1 at last in mine." in unlike
    assert "; 4 clients; batch 2. Their own: fedavg eta = 1; mine eta = 1. Not alike: " in unlike


def test_a_metric_is_on_a_linear_axis_and_rounds_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([0.01, 0.2, 0.9])
    run = played(metrics={"macro F1": lambda output, targets: next(values)})
    (axes,) = drawn(monkeypatch, {"fedavg": run}, panels=["macro F1"], against=["rounds"]).axes
    assert axes.get_yscale() == "linear"
    assert all(float(tick).is_integer() for tick in axes.get_xticks())


def test_without_matplotlib_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    run = played()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(FedspecError, match=r"draw_runs needs matplotlib: pip install '\./impl\[simulate\]'"):
        draw_runs({"fedavg": run}, "x.png")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"panels": ["f1"]}, "panels: got 'f1'; known of these runs: loss, test_loss, accuracy, norm"),
        ({"panels": "loss"}, "panels: got 'loss'; give a list"),
        ({"against": ["hours"]}, "against: got 'hours'; known of these runs: rounds, floats, seconds"),
        ({"file": "x.jpg"}, "pictures are written as .png, .svg, .pdf"),
        ({"runs": []}, "runs: got list; give them by name"),
        ({"runs": {}}, "no round was played; play some first"),
        ({"tuned": ["fedavgg"]}, "tuned: fedavgg is none of the runs; there are fedavg"),
    ],
)
def test_what_cannot_be_drawn_is_told(asked: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        draw_runs(**{"runs": {"fedavg": played()}, "file": "x.png", **asked})
    with pytest.raises(ParameterError, match="no round was played by new; play some first"):
        draw_runs({"fedavg": played(), "new": played(ends=0)}, "x.png")


def test_a_recipe_is_drawn_as_its_runs_have_told(monkeypatch: pytest.MonkeyPatch) -> None:
    found = recipe("fednova-quadratics")
    columns = {"loss": [1.0, 1.0], "floats_sent": [20, 40], "test_loss": [1.0, 0.5], "accuracy": [None, None]}
    records = [
        {"trial": trial.name, "hyper": {}, "seed": s, "round": [1, 5], "rounds": 5, "diverged": "", **columns}
        | {"distance": [3.0 + s, 1.0 + s]}
        for trial in found.trials
        for s in range(3)
    ]
    figures: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *where, **how: figures.append(figure))
    recipe_picture.draw(found, records, "small", Path("x.png"))
    said = said_in(figures[0])
    assert "10 clients; eta_l divided by 5 at rounds 40, 60" in said and "batch" not in said
    left, right = figures[0].axes
    assert left.get_ylabel() == "distance to the minimiser"
    for line in left.get_lines():
        assert [*line.get_xdata()] == [1, 5] and [*line.get_ydata()] == [4, 2]
    assert [*right.get_lines()[0].get_xdata()] == [20, 40]


def test_a_number_that_plays_no_part_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """FedNova under SGD clients has neither mu nor rho, and its tau_eff is no number that anybody gave."""
    said = caption(monkeypatch, {"fedavg": played(), "fednova": played("fednova")})
    assert "tau_eff" not in said and "mu =" not in said and "rho" not in said
    said = caption(monkeypatch, {"fedavg": played(), "fednova": played("fednova", solver="proximal", mu=0.25)})
    assert "fednova mu = 0.25" in said and "tau_eff" not in said
