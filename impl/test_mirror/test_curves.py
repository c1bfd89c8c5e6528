"""Pictures: curves by a second route, names by their boxes, files by their bytes; and of runs played in Python."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from matplotlib import image
from matplotlib.figure import Figure
from torch import nn

from fedspec.errors import FedspecError, ParameterError
from fedspec_suite.report.line_labels import FULL, placed
from fedspec_torch import Federation, by_round, cohorts, each_round, epochs, exchanges, simulate
from fedspec_torch.recipes import recipe
from fedspec_train import draw_runs
from fedspec_train.report import captions, picture, recipe_picture
from fedspec_train.report.curves import AGAINST, PANELS, chosen, curve

pytestmark = pytest.mark.table(1)

SEVEN = ("fedada2", "fedavg", "fednova", "fedadam", "scaffold", "fed-lamb", "afga")
TWELVE = (*SEVEN, "fedprox", "feddyn", "fedyogi", "fedavgm", "fedadagrad")
TASK = {"data": "digits", "model": "mlp", "clients": 100, "alpha": 0.3, "cohort": 10, "batch": 16, "steps": "2-8"}

ONE: dict[str, Any] = {"against": ("rounds",), "panels": ("test_loss",)}
"""A picture of one panel, which is drawn soonest."""


def made(names: Sequence[str], seeds: int = 1, rounds: int = 30, **more: Any) -> list[dict[str, Any]]:
    """Runs whose losses fall, all to about the same; floats of afga are a hundred times those of others."""
    runs = []
    for name in names:
        for seed in range(seeds):
            rng = np.random.default_rng([seed, *name.encode()])
            loss = 0.2 + 2 * np.exp(-np.arange(rounds) / (3 + 8 * rng.random())) + 0.05 * rng.random(rounds)
            each = 10_000 * (100 if name == "afga" else 1)
            runs.append(
                {
                    "algorithm": name,
                    "seed": seed,
                    "hyper": {"eta_l": 0.1, "eta": float(len(name))},
                    "parameters": 9610,
                    "resumed": 0,
                    "asked": rounds,
                    "times": [0.25 + 0.5 * rng.random() for _ in range(rounds)],
                    "rounds": [
                        {
                            "round": r,
                            "loss": float(2 * loss[r]),
                            "floats_sent": (r + 1) * each,
                            "test_loss": float(loss[r]),
                            "accuracy": float(1 - loss[r] / 3),
                        }
                        for r in range(rounds)
                    ],
                }
                | more
            )
    return runs


def figure_of(runs: Sequence[dict[str, Any]], **look: Any) -> Any:
    usual: dict[str, Any] = {"against": ("rounds", "floats"), "panels": ("test_loss", "accuracy"), "tuned": ()}
    figure = picture.drawn(runs, TASK, **{**usual, **look})
    figure.draw_without_rendering()
    return figure


def lines(figure: Any) -> dict[str, Any]:
    return {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}


def names_in(axes: Any) -> list[Any]:
    return [text for text in axes.texts if text.get_text() in {line.get_label() for line in axes.get_lines()}]


def boxes(figure: Any) -> Iterator[tuple[str, Any]]:
    """All that is written in a picture, each with its box in pixels."""
    for axes in figure.axes:
        for text in (*names_in(axes), axes.xaxis.label, axes.yaxis.label):
            yield text.get_text(), text.get_window_extent()
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in axis.get_major_ticks():
                # Those beyond the limits are not drawn.
                if low <= tick.get_loc() <= high:
                    yield tick.label1.get_text(), tick.label1.get_window_extent()
    for text in figure.texts:
        yield "caption", text.get_window_extent()
    for legend in figure.legends:
        yield "legend", legend.get_window_extent()


def caption_line(figure: Any) -> str:
    """The caption in one line."""
    return " ".join(figure.texts[-1].get_text().split())


# Names.


@pytest.mark.parametrize("seed", range(60))
def test_no_two_names_overlap_and_none_leaves_the_panel(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 15))
    ends = rng.uniform(0, (rng.choice([1, 60, 300]), rng.choice([1, 30, 200])), (n, 2))
    sizes = np.stack([rng.uniform(20, 90, n), np.full(n, 14.0)], 1)
    at = placed(ends, sizes, 0, 200)
    if at is None:
        # Only where all of them would not go into one column.
        assert n * 14 > FULL * 200
        return
    assert (at[:, 0] > ends[:, 0]).all()
    assert (at[:, 1] - 7 >= -1e-9).all() and (at[:, 1] + 7 <= 200 + 1e-9).all()
    for i, j in combinations(range(n), 2):
        beside = at[i, 0] + sizes[i, 0] <= at[j, 0] or at[j, 0] + sizes[j, 0] <= at[i, 0]
        assert beside or abs(at[i, 1] - at[j, 1]) >= 14 - 1e-9
        # Their order is that of the ends, so lines to them do not cross.
        assert beside or at[i, 0] != at[j, 0] or (at[i, 1] - at[j, 1]) * (ends[i, 1] - ends[j, 1]) >= 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("names", "seeds"), [(SEVEN[:1], 1), (SEVEN[1:3], 5), (SEVEN, 1), (SEVEN, 5), (TWELVE, 1), (TWELVE, 5)]
)
def test_what_is_written_does_not_overlap_and_is_in_the_picture(names: Sequence[str], seeds: int) -> None:
    figure = figure_of(made(names, seeds))
    # The resolution of PNG, and that of SVG and PDF.
    for dpi in (picture.DPI, 72):
        figure.set_dpi(dpi)
        figure.draw_without_rendering()
        written = [*boxes(figure)]
        for (one, a), (other, b) in combinations(written, 2):
            assert not a.overlaps(b), (one, other, dpi)
        width, height = figure.bbox.size
        for name, box in written:
            assert box.x0 >= 0 and box.y0 >= 0 and box.x1 <= width and box.y1 <= height, (name, dpi)
    if len(names) < 8:
        assert all(sorted(text.get_text() for text in names_in(axes)) == sorted(names) for axes in figure.axes)
        assert not figure.legends
    else:
        (legend,) = figure.legends
        assert [text.get_text() for text in legend.get_texts()] == [*names]
        assert not any(names_in(axes) for axes in figure.axes)


# Medians and bands.


@pytest.mark.parametrize("seeds", [2, 4, 5, 8])
def test_a_line_is_the_median_and_a_band_has_the_edges_that_the_caption_says(seeds: int) -> None:
    runs = made(["fedavg"], seeds)
    figure = figure_of(runs, **ONE)
    (axes,) = figure.axes
    (line,), (band,) = axes.get_lines(), axes.collections
    edges = band.get_paths()[0].vertices
    for r in range(30):
        values = [run["rounds"][r]["test_loss"] for run in runs]
        assert line.get_xdata()[r] == r + 1
        assert line.get_ydata()[r] == pytest.approx(statistics.median(values))
        quarters = statistics.quantiles(values, n=4, method="inclusive")
        low, high = (quarters[0], quarters[2]) if seeds >= 5 else (min(values), max(values))
        at = edges[edges[:, 0] == r + 1, 1]
        assert (at.min(), at.max()) == pytest.approx((low, high))
    said = "the middle half of them" if seeds >= 5 else "from the least to the greatest"
    assert f"the median of {seeds} seeds at each round; bands: {said}." in caption_line(figure)


def test_runs_that_ended_early_end_the_line() -> None:
    runs = made(["fedavg", "fedadam"], 3)
    runs[1]["rounds"], runs[1]["times"] = runs[1]["rounds"][:12], runs[1]["times"][:12]
    figure = figure_of(runs)
    assert {name: len(line.get_xdata()) for name, line in lines(figure).items()} == {"fedavg": 12, "fedadam": 30}
    assert "fedavg ended after 12 of 30 rounds." in caption_line(figure) and "fedadam ended" not in caption_line(figure)


def test_rounds_without_an_evaluation_are_left_out() -> None:
    (run,) = made(["fedavg"])
    for r in run["rounds"]:
        if r["round"] % 5:
            r["test_loss"] = None
    found = curve([run], "rounds", "test_loss", (0, 1))
    assert found is not None and found.x.tolist() == [1, 6, 11, 16, 21, 26]
    run["rounds"][5]["test_loss"] = float("nan")
    found = curve([run], "rounds", "test_loss", (0, 1))
    assert found is not None and found.x.tolist() == [1, 11, 16, 21, 26]


# Axes.


def test_seconds_add_up_and_runs_of_which_some_are_not_known_have_none() -> None:
    runs = made(["fedavg"], 3)
    found = curve(runs, "seconds", "accuracy", (0, 1))
    assert found is not None
    for r in (0, 7, 29):
        total = []
        for run in runs:
            so_far = 0.0
            for seconds in run["times"][: r + 1]:
                so_far += seconds
            total.append(so_far)
        assert found.x[r] == pytest.approx(sorted(total)[1])
    gone_on_with = curve(made(["fedavg"], resumed=4, times=[0.5] * 30), "seconds", "accuracy", (0, 1))
    assert gone_on_with is not None and gone_on_with.x[-1] == 15.0
    resumed = made(["fedavg"], 2, resumed=4, times=[0.1] * 26)
    assert curve(resumed, "seconds", "accuracy", (0, 1)) is None
    figure = figure_of([*resumed, *made(["fedadam"])], against=("rounds", "seconds"))
    assert [sorted(line.get_label() for line in axes.get_lines()) for axes in figure.axes[:2]] == [
        ["fedadam", "fedavg"],
        ["fedadam"],
    ]
    assert "Of fedavg not all rounds were timed." in caption_line(figure)
    # Where nobody has any there is a picture all the same.
    (axes,) = figure_of(resumed, against=("seconds",), panels=("loss",)).axes
    assert [text.get_text() for text in axes.texts] == ["nobody has such numbers"]


def test_every_choice_of_axes_is_drawn_with_its_words() -> None:
    figure = figure_of(made(SEVEN[:2], 2), against=("seconds", "floats", "rounds"), panels=("accuracy", "loss"))
    assert [(axes.get_xlabel(), axes.get_ylabel()) for axes in figure.axes] == [
        (across, up) for up in ("test accuracy", "training loss") for across in ("seconds", "floats sent", "rounds")
    ]
    assert chosen("--against", "floats, rounds,floats", AGAINST) == ("floats", "rounds")
    assert chosen("--panels", "test-loss", PANELS) == ("test_loss",)
    with pytest.raises(ParameterError, match="--against: got 'hours'; known: rounds, floats, seconds"):
        chosen("--against", "rounds,hours", AGAINST)
    with pytest.raises(ParameterError, match="--panels: no names given; known: loss, test_loss, accuracy"):
        chosen("--panels", " ,", PANELS)


@pytest.mark.slow
def test_an_axis_is_logarithmic_where_numbers_are_far_apart() -> None:
    def scales(names: Sequence[str], least: float) -> list[tuple[str, str]]:
        runs = made(names)
        for run in runs:
            for r, at in zip(run["rounds"], np.linspace(2, least, 30), strict=True):
                r["test_loss"] = float(at)
        return [(axes.get_xscale(), axes.get_yscale()) for axes in figure_of(runs).axes]

    linear = ("linear", "linear")
    assert scales(["fedavg", "fednova"], 1.0) == [linear] * 4
    assert scales(["fedavg", "afga"], 0.1) == [("linear", "log"), ("log", "log"), linear, ("log", "linear")]
    # A loss of 0 has no logarithm.
    assert scales(["fedavg"], 0.0) == [linear] * 4


# Words.


def test_the_caption_says_what_was_alike_and_what_was_not_tuned() -> None:
    figure = figure_of(made(["fedavg", "fedprox"], 2))
    assert caption_line(figure) == (
        "Alike for all: digits, mlp of 9,610 parameters; 100 clients; Dirichlet(0.3) by label; 10 in a round where an "
        "algorithm does not take all; local steps 2-8; batch 16; eta_l = 0.1. Their own: fedavg eta = 6; fedprox eta "
        "= 7. Lines: the median of 2 seeds at each round; bands: from the least to the greatest. Floats: numbers sent "
        "to clients, from them and between them. "
        "Nobody tuned the settings."
    )
    alone = caption_line(figure_of(made(["fedavg"]), **ONE))
    assert "eta_l = 0.1; eta = 6." in alone and "Alike" not in alone
    bare = {"data": "text", "model": "lstm", "alpha": None}
    assert captions.caption(bare, {"fedavg": made(["fedavg"])}, (), ()).startswith(
        "text, lstm of 9,610 parameters; eta_l"
    )


# Files.


@pytest.mark.slow
def test_files_are_what_their_suffixes_say_and_the_same_again(tmp_path: Path) -> None:
    runs = made(SEVEN[:2], 2)
    for suffix in (".png", ".svg", ".pdf"):
        once, again = tmp_path / f"once{suffix}", tmp_path / f"again{suffix}"
        for file in (once, again):
            picture.draw(runs, TASK, file, **ONE)
        assert once.read_bytes() == again.read_bytes()
    root = ElementTree.parse(tmp_path / "once.svg").getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg" and len(list(root.iter())) > 50
    pdf = (tmp_path / "once.pdf").read_bytes()
    assert pdf.startswith(b"%PDF-") and pdf.rstrip().endswith(b"%%EOF")
    # Letters as TrueType, which journals take.
    assert b"/Type3" not in pdf and b"/CIDFontType2" in pdf
    pixels = image.imread(tmp_path / "once.png")
    assert pixels.shape[1] == 6 * 150
    # On a dark page it has its own white ground.
    assert (pixels[..., 3] == 1).all() and (pixels[[0, 0, -1, -1], [0, -1, 0, -1]] == 1).all()


# Runs that were played in Python.


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


def drawn(monkeypatch: pytest.MonkeyPatch, draw: Callable[[], object]) -> Any:
    """The figure that would be written."""
    figures: list[Any] = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, *where, **how: figures.append(figure))
    draw()
    return figures[0]


def caption(monkeypatch: pytest.MonkeyPatch, runs: dict[str, Any]) -> str:
    """Text under the figure."""
    return said_in(drawn(monkeypatch, partial(draw_runs, runs, "x.png")))


def said_in(figure: Any) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def test_its_lines_are_medians_of_what_the_runs_have_told(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"fedavg": [played(seed=s) for s in range(3)], "mine": played("fedprox", mu=0.1)}
    asked: Any = {"against": ["rounds"], "panels": ["test_loss", "norm", "loss"], "model": "a line"}
    figure = drawn(monkeypatch, partial(draw_runs, runs, "x.png", **asked))
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
    figure = drawn(monkeypatch, partial(draw_runs, runs, "x.png", tuned=["fedprox"]))
    assert [axes.get_ylabel() for axes in figure.axes] == ["training loss"] * 2
    assert {line.get_label() for line in figure.axes[0].get_lines()} == {"fedavg (not tuned)", "fedprox"}


def test_options_that_are_not_alike_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of the changes differ between canonical readings, and only the caption shows it."""
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


def test_without_matplotlib_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    run = played()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(FedspecError, match=r"draw_runs needs matplotlib: pip install '\./impl\[simulate\]'"):
        draw_runs({"fedavg": run}, "x.png")


@pytest.mark.table(10)
@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"panels": ["f1"]}, "panels: got 'f1'; known of these runs: loss, test_loss, accuracy, norm"),
        ({"panels": "loss"}, "panels: got 'loss'; give a list"),
        ({"against": ["hours"]}, "against: got 'hours'; known of these runs: rounds, floats, seconds"),
        ({"file": "x.jpg"}, "pictures are written as .png, .svg, .pdf"),
        ({"runs": []}, "runs: got list; give them by name"),
        ({"runs": {}}, "no round was played; play some first"),
        ({"tuned": ["fedavgg"]}, "tuned: got fedavgg, which isn't one of the runs; they are fedavg"),
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
    figure = drawn(monkeypatch, partial(recipe_picture.draw, found, records, "small", Path("x.png")))
    said = said_in(figure)
    assert "10 clients; eta_l divided by 5 at rounds 40, 60" in said and "batch" not in said
    left, right = figure.axes
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
