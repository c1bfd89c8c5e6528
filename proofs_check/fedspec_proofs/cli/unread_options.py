"""Check for options of ``fedspec worst-case`` that the requested analysis ignores; such options are rejected."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Any

from fedspec.entry import Algorithm
from fedspec.errors import ParameterError


class Question(StrEnum):
    """Analyses of the command, by their name in messages."""

    DISTANCE = "the distance after rounds"
    FORM = "a form that falls (--lyapunov)"
    MATRICES = "a form that falls for a class of matrices (--eigenvalues)"
    COMPRESSORS = "a form that falls for a class of compressors (--alpha)"
    COEFFICIENTS = "a server's coefficients (--coefficients)"


READS: dict[Question, Collection[str]] = {
    Question.DISTANCE: ("steps", "eta_l", "setting", "zeta", "rounds", "mixing", "chart"),
    Question.FORM: ("steps", "eta_l", "setting", "mixing", "delay", "chart"),
    Question.MATRICES: ("steps", "eta_l", "setting", "eigenvalues", "chart"),
    Question.COMPRESSORS: ("steps", "eta", "setting", "alpha", "chart"),
    Question.COEFFICIENTS: ("steps", "eta_l", "zeta", "coefficients"),
}
"""Options that each analysis reads, beside ``mu``, which every analysis reads."""

ALWAYS = ("algorithm", "mu", "lyapunov", "as_json")


def parameters_given(context: Any) -> set[str]:
    """Names of the parameters given on the command line."""
    return {name for name in context.params if context.get_parameter_source(name).name == "COMMANDLINE"}


def question(*, lyapunov: bool, eigenvalues: bool, alpha: bool) -> Question:
    """Analysis that these options request, unless ``--coefficients`` is given."""
    if eigenvalues:
        return Question.MATRICES
    if alpha:
        return Question.COMPRESSORS
    return Question.FORM if lyapunov else Question.DISTANCE


def refuse(
    row: Algorithm, asked: Question, given: Collection[str], numbers: Collection[str], counts: Sequence[int], peers: int
) -> None:
    """Reject options that the requested analysis does not read.

    Args:
        row: the row of the algorithm.
        asked: name of the requested analysis.
        given: the parameters given on the command line.
        numbers: the hyper-parameters given by ``--set``.
        counts: numbers of local steps.
        peers: number of rows of the mixing matrix; 0 without a matrix.

    Raises:
        ParameterError: the analysis doesn't read an option; the message names the option.
    """
    for name in sorted({*given} - {*READS[asked], *ALWAYS}):
        option = "--" + ("set" if name == "setting" else name.replace("_", "-"))
        raise ParameterError(f"{option}: {asked} does not read it; leave it out")
    if twice := [name for name in ("eta_l", *(("eta",) if "eta" in given else ())) if name in numbers]:
        raise ParameterError(
            f"--set {twice[0]}: this is the rate to analyse; give it by --{twice[0].replace('_', '-')}"
        )
    if "steps" not in given:
        return
    words = ",".join(map(str, counts))
    if asked is Question.COMPRESSORS and {*counts} != {1}:
        raise ParameterError(
            f"--steps {words}: a client of {row.id} takes one gradient a round; give 1 for each client"
        )
    if (peers and len(counts) not in (1, peers)) or (asked is Question.MATRICES and len(counts) > 1):
        of = f"the matrix has {peers} peers" if peers else "the bound holds for any number of peers"
        raise ParameterError(f"--steps {words}: {of}, with equally many steps each; give one number")
