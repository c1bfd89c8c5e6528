"""Page of the papers' claims that recipes reproduce, each with its verdict and plots of the measures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fedspec_site import verdicts
from fedspec_site.drawn import dots
from fedspec_site.pictures import figure
from fedspec_site.writing import ROOT, Source
from fedspec_torch import recipes
from fedspec_torch.recipes import tables
from fedspec_torch.recipes.checks import by_seed, verdict
from fedspec_torch.recipes.measures import MEASURES
from fedspec_torch.recipes.store import Stored, kept

FAR = 30.0
"""Ratio of largest to smallest value above which an axis is logarithmic."""


@dataclass(frozen=True)
class Played:
    """Recipe, and its stored runs at the large size.

    Attributes:
        recipe: the recipe.
        stored: its runs; None where it was not run.
        findings: results of its checks.
    """

    recipe: recipes.Recipe
    stored: Stored | None
    findings: Sequence[recipes.Finding]

    @property
    def said(self) -> str:
        """Verdict on the paper's claim."""
        return verdict(self.findings) if self.stored else "Not run at its large size yet"

    @property
    def mark(self) -> Markup:
        """Verdict as HTML."""
        held = sum(f.holds for f in self.findings)
        if not self.stored or 0 < held < len(self.findings):
            return verdicts.pill("open", self.said)
        return verdicts.pill("shown" if held else "refuted", self.said)

    @property
    def pictures(self) -> list[Markup]:
        """Plot of each measure that the checks use."""
        if not self.stored:
            return []
        return [self._picture(name, self.stored) for name in dict.fromkeys(c.measure for c in self.recipe.checks)]

    def _picture(self, measure: str, stored: Stored) -> Markup:
        rows, lost = [], 0
        for trial in self.recipe.trials:
            values = [*by_seed(self.recipe, measure, trial.name, stored.runs).values()]
            finite = [v for v in values if math.isfinite(v)]
            lost += len(values) - len(finite)
            rows.append((trial.name, finite))
        shown = [v for _, some in rows for v in some]
        log = bool(shown) and min(shown) > 0 and max(shown) > FAR * min(shown)
        better = "more is better" if MEASURES[measure].better > 0 else "less is better"
        words = f"{MEASURES[measure].words} ({better}{', logarithmic' if log else ''}"
        words += f"; {lost} runs without a finite value are not drawn)" if lost else ")"
        return dots(rows, words, log=log) if shown else Markup()

    @property
    def head(self) -> list[str]:
        """Column names of the table of trials."""
        return tables.head(self.recipe)

    @property
    def rows(self) -> list[list[str]]:
        """Rows of the table of trials."""
        return [*tables.rows(self.recipe, self.stored.runs)] if self.stored else []

    @property
    def how(self) -> str:
        """Rounds, seeds, date and versions of the runs."""
        if not self.stored:
            return ""
        size = self.recipe.sizes[self.stored.size]
        used = ", ".join(f"{n} {v}" for n, v in self.stored.versions.items())
        return f"{size.rounds} rounds, seeds 0 to {size.seeds - 1}; {self.stored.date}; {used}."

    @property
    def grids(self) -> str:
        """Grids from which the tuned values were chosen."""
        found = [f"{t.name}: {words}" for t in self.recipe.trials if (words := tables.grid(t))]
        mean = MEASURES[self.recipe.tuning].words
        won = f"Each point was run on two seeds that no result is of, and the best mean of {mean} won."
        return f"{'; '.join(found)}. {won}" if found else ""


def recipe_results() -> list[Played]:
    """Return every recipe with its stored result."""
    out = []
    for id in recipes.names():
        recipe, file = recipes.recipe(id), ROOT / "docs" / "reproduced" / f"{id}.json"
        found = kept(file, recipe) if file.exists() else None
        out.append(Played(recipe, found, recipes.judge(recipe, found.runs) if found else ()))
    return out


def write(source: Source) -> None:
    """Write the page."""
    picture = ROOT / "docs" / "pictures" / "simulate.png"
    words = "test loss and accuracy of seven algorithms, against rounds and against numbers sent"
    simulated = Markup(figure(source, picture, words, "../docs/pictures/simulate.png"))
    source.page("train/index", "train", played=recipe_results(), simulated=simulated)
