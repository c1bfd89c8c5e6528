"""What an edit of the specification's text is, from the mistake it stands for to the session that it runs in.

Whatever could be wrong is a :class:`~fedspec_suite.diagnosis.variants.Variant`: an algorithm, a reading and options,
with any number of mutants (other texts in the place of rules) and of defects (wrappers of a session). All that this
folder makes are mutants without a place in the catalogue. To have another class of mistakes looked for, write a
function that is given a parsed text and yields

* a :class:`Change` where one expression stands for another (``changes.py``, ``forms.py``, ``turned.py``), from what is
  at hand where the statement runs (``at_hand.py``, seen by running it);
* a :class:`Rebuilt` where the whole function is another (``structural.py``, ``moved.py``, ``restated.py``);

and have ``mechanical.py`` call it, which makes an :class:`Edit` of each. What few people get wrong has a higher rank
and is tried later; what says nothing of why comes after what does (``PASSES`` in ``search.py``). What no text can say,
because it is about what a session is told or answers, is a defect (``defects/``). Before it is kept, have the share of
named mutants measured again with and without it (``scripts/leave_out.py``), and all that conforms judged.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.mutants import Mutant


class Change(NamedTuple):
    """One expression put for another.

    Attributes:
        words: what stands for what.
        old: the expression in the text.
        new: what stands there instead.
        rank: how much of a mistake it is to make: what is read in the wrong place comes first.
    """

    words: str
    old: ast.expr
    new: str
    rank: int = 0


class Rebuilt(NamedTuple):
    """A function built otherwise.

    Attributes:
        words: how.
        symbol: what it is about.
        tree: the text, parsed.
    """

    words: str
    symbol: str
    tree: ast.Module


class Edit(NamedTuple):
    """An edit of a function.

    Attributes:
        words: what it does, and in what.
        symbol: what the edited statement assigns; empty where it returns a value or decides.
        mutant: how it is run.
        equation: the equation that the statement computes, where its function prints it.
        rank: how much of a mistake it is to make.
        asks: what it asks for that a session makes known.
    """

    words: str
    symbol: str
    mutant: Mutant
    equation: str = ""
    rank: int = 0
    asks: tuple[Defect, ...] = ()


def unparsed(tree: ast.Module) -> str:
    """The text of an edited tree."""
    return ast.unparse(ast.fix_missing_locations(tree))
