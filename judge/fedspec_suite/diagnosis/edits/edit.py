"""Edits of the specification's text, each of which reproduces a possible mistake.

Every possible mistake is a :class:`~fedspec_suite.diagnosis.variants.Variant`: an algorithm, a reading and options,
with any number of mutants (other texts in the place of rules) and of defects (wrappers of a session). This folder makes
mutants without a place in the catalogue. To add a class of mistakes, write a function that takes a parsed text and
yields

* a :class:`Change` if one expression stands for another (``changes.py``, ``forms.py``, ``turned.py``), from the values
  at hand where the statement runs (``at_hand.py``, seen by running it);
* a :class:`Rebuilt` if the whole function differs (``structural.py``, ``moved.py``, ``restated.py``);

and call this function in ``mechanical.py``, which makes an :class:`Edit` of each. A mistake that few people make has a
higher rank and is tried later. Edits that don't explain a deviation are tried after edits that do (``PASSES`` in
``search.py``). A mistake in the inputs or answers of a session, which no text can express, is a defect (``defects/``).
Before you keep a class, measure the share of named mutants with and without it (``scripts/closed_book.py``), and judge
all conforming subjects.
"""

from __future__ import annotations

import ast
import re
from typing import Any, NamedTuple, TypeVar

import numpy as np

from fedspec.source_text import copied
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.mutants import Mutant

CALLS: dict[str, Any] = {
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "where_less": lambda a, b, x, y: np.where(np.less(a, b), x, y),
    "ratio": lambda a, b: np.where(np.greater(b, 0), np.divide(a, b), 0),
}
"""Elementwise functions that rules use, as NumPy functions."""

NEW_STATE = re.compile(r"[A-Z]\w*|replace|after")
"""Pattern of the names of functions that construct a state."""


class Change(NamedTuple):
    """Replacement of one expression by another.

    Attributes:
        words: the words for the change.
        old: the expression in the text.
        new: the text that replaces it.
        rank: the unlikeliness of the mistake: 0 for a value read in the wrong place.
    """

    words: str
    old: ast.expr
    new: str
    rank: int = 0


class Rebuilt(NamedTuple):
    """Function with a different body.

    Attributes:
        words: description of the change.
        symbol: the symbol that the change is about.
        tree: the text, parsed.
    """

    words: str
    symbol: str
    tree: ast.Module


class Edit(NamedTuple):
    """Edit of a function that reproduces a mistake.

    Attributes:
        words: description of the edit and of its place.
        symbol: name that the edited statement assigns; empty if the statement returns a value or is a condition.
        mutant: the edited function, ready to run.
        equation: the equation that the statement computes, where its function prints it.
        rank: unlikeliness of the mistake, from 0.
        asks: recorders that the new text needs for the functions that it calls.
    """

    words: str
    symbol: str
    mutant: Mutant
    equation: str = ""
    rank: int = 0
    asks: tuple[Defect, ...] = ()


def unparsed(tree: ast.Module) -> str:
    """Return the text of an edited tree."""
    return ast.unparse(ast.fix_missing_locations(tree))


class Put(ast.NodeTransformer):
    """Transformer that replaces every occurrence of an expression."""

    def __init__(self, there: ast.expr, what: ast.expr) -> None:
        self.there, self.what = ast.dump(there), what

    def visit(self, node: ast.AST) -> Any:
        """Return the replacement if the node equals the expression to replace."""
        return copied(self.what) if ast.dump(node) == self.there else super().visit(node)


N = TypeVar("N", bound=ast.AST)


def swapped(whole: N, at: ast.AST, other: ast.AST) -> N:
    """Copy a tree with one node replaced; the original tree is unchanged."""

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return copied(other) if node is at else super().generic_visit(_shallow(node))

    found: N = Swap().visit(whole)
    return found


def _shallow(node: ast.AST) -> ast.AST:
    new = type(node)()
    for name, value in vars(node).items():
        setattr(new, name, [*value] if isinstance(value, list) else value)
    return new
