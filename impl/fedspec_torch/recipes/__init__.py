"""Recipes that reproduce papers' claims: a task, algorithms with tuned values, and the expected result.

* ``names``, ``recipe``: those that come along, and one of them; ``read``: one from a file.
* ``play``: all runs of one, at a size.
* ``judge``: what came out of a recipe's checks, and the sentence that says it.
"""

from fedspec_torch.recipes.checks import Finding, judge, sentence
from fedspec_torch.recipes.parser import RecipeError, names, read, recipe
from fedspec_torch.recipes.recipe import Check, Recipe, Size, Trial
from fedspec_torch.recipes.runner import play

__all__ = [
    "Check",
    "Finding",
    "Recipe",
    "RecipeError",
    "Size",
    "Trial",
    "judge",
    "names",
    "play",
    "read",
    "recipe",
    "sentence",
]
