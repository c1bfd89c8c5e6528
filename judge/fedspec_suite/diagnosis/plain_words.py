"""Source text in words and in the paper's symbols, without functions that only the specification has."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from itertools import accumulate

from fedspec.rules import equations
from fedspec_suite.diagnosis.edits.claimed import running
from fedspec_suite.diagnosis.edits.edit import NEW_STATE
from fedspec_suite.measure.setting import Setting

OPTION = re.compile(r"\b(\w+) (is not|!=|is|==) [A-Z]\w*\.([A-Z][A-Z_0-9]*)\b")
WITHIN = re.compile(r"\b(?:plan|sent|messages|arrival|moments|past)\.(\w+)")
SUM = re.compile(r"\bsum\((\w+)\.tolist\(\)\)")
ROWS = re.compile(r"\b(\w+)\.sum\(axis=0\)")
ALIKE = re.compile(r"shares\(\[1\] \* clients, x\)\[:(?:[^][]|\[\])*\]")
SHAPES = {
    re.compile(r"\b\w+\.shape\[0\]"): "the number of clients",
    re.compile(r"\b\w+\.shape\[-1\]"): "the number of coordinates",
}
CHOICES = re.compile(r"\{[A-Z]\w+\.[A-Z_]+: .*\}")
INNERMOST = re.compile(r"((?<![\w.])[A-Za-z_][\w.]*)?(?:\(([^][(){}]*)\)|\[[^][(){}]*\]|\{[^][(){}]*\})")
"""Pattern of innermost brackets, and the function whose arguments they hold."""

ARGUMENTS = r"\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
"""Pattern of the arguments of a call, up to three brackets deep."""

OPERATORS = "*/+-@^"
MARKS = "()[]{},"
DONE = "".join(chr(0xE000 + k) for k in range(len(MARKS)))
"""Placeholders for brackets and commas that are already processed."""

HIDE, SHOW = str.maketrans(MARKS, DONE), str.maketrans(DONE, MARKS)
OPEN, CLOSE = DONE[0], DONE[1]


def _ratio(a: str, b: str) -> str:
    return f"{a} divided by its length" if b == f"the length of {a}" else f"{_one(a)} / {_one(b)}"


def _one(text: str) -> str:
    """In brackets, unless it is one word, one call or bracketed already."""
    begin = re.match(rf"\w*{OPEN}", text)
    depths = accumulate((c == OPEN) - (c == CLOSE) for c in text[begin.end() : -1]) if begin else ()
    whole = begin is not None and text[-1] == CLOSE and min(depths, default=0) >= 0
    return text if whole or " " not in text else f"{OPEN}{text}{CLOSE}"


def _larger(a: str, b: str) -> str:
    return f"the magnitude of {a}" if b == f"-{a}" else f"maximum({a}, {b})"


ANY = -2
"""Stand-in for any number of arguments."""

OF_CLIENTS = {"tau", "steps", "p", "a", "deltas", "examples"}
"""Names that hold one number or row per client of a round."""

SAID: Mapping[str, tuple[int, Callable[..., str]]] = {
    "ratio": (2, _ratio),
    "maximum": (2, _larger),
    "norm": (1, "the length of {}".format),
    "len": (1, lambda a: f"the number of {'clients' if a in OF_CLIENTS else a}"),
    "effective_steps": (ANY, lambda *given: "tau_eff"),
    "list": (1, "{}".format),
    "numbers": (2, "{}".format),
    "choice": (3, "{2}".format),
    "constant": (3, "{}".format),
    "new.append": (1, "{}".format),
    "gradient": (2, "the gradient at {1}".format),
    "where_less": (4, "{2} where {0} < {1}, else {3}".format),
    "where_shorter": (4, "{2} where {0} is shorter than {1}, else {3}".format),
    "unless_short": (3, "{0} unless {1} is shorter than {2}".format),
    "scaling": (4, "the scaled length of {0}".format),
    "weighted_mean": (2, "the mean of {0} by {1}".format),
    "weigh": (2, "the sum of {1} by {0}".format),
    "corrected": (4, "{0} / (1 - {1}^{2})".format),
    "complement": (3, "1 - {0}^{1}".format),
    "root": (3, "the root of {0} with {1}".format),
    "rate": (5, "the corrected {0}".format),
    "warmed": (3, "the rate {0} of a warm-up".format),
}
"""Functions that have words: the number of arguments, and a function that returns the words."""


def _option(found: re.Match[str]) -> str:
    name, how, value = found.groups()
    return f"{name} {'is not' if how in ('is not', '!=') else '='} {value.lower().replace('_', '-')}"


def plainly(words: str) -> str:
    """Replace source text in a sentence by plain words where there are some."""
    words = ALIKE.sub("1 / N", CHOICES.sub("what is chosen from", words))
    for shape, count in SHAPES.items():
        words = shape.sub(count, words)
    words = ROWS.sub(r"the sum of \1", SUM.sub(r"the sum of \1", OPTION.sub(_option, words)))
    more = 1
    while more:
        words, more = INNERMOST.subn(_call, words)
    return WITHIN.sub(r"\1", words.translate(SHOW)).replace(" ** ", "^").replace(" == ", " = ")


def _call(found: re.Match[str]) -> str:
    """Words for a call, if there are some; their brackets and commas are hidden from what is around it."""
    name, given = found[1], [a.strip() for a in (found[2] or "").split(",")]
    count, said = SAID.get(name, (-1, str))
    record = name and NEW_STATE.fullmatch(name) and len(given) > 1
    if not (record or count == ANY or (count == len(given) and not any("=" in a for a in given))):
        return found[0].translate(HIDE)
    words = ("the new state" if record else said(*given)).translate(HIDE)
    beside = found.string[: found.start()].rstrip()[-1:] + found.string[found.end() :].lstrip()[:1]
    return _one(words) if any(c in OPERATORS for c in beside) else words


def in_plain_words(words: str, setting: Setting) -> str:
    """Return a sentence about a rule without its source text, in the setting's symbols."""
    return _in_symbols(plainly(_under_options(words, setting)), setting)


def _under_options(words: str, setting: Setting) -> str:
    """Remove bias corrections that the claim doesn't have from a sentence."""
    correction, maximum_of = setting.options.get("bias_correction"), setting.options.get("maximum_of")
    # AMSGrad corrects either before it takes the maximum or after it, never twice.
    idle = {
        r"corrected\((\w+), [^()]*\)": correction != "moments",
        r"corrected\((\w+), [^()]*\bbefore\)": maximum_of == "before-correction",
        r"corrected\((\w+), [^()]*\bafter\)": maximum_of == "after-correction",
        r"rate\((\w+), [^()]*\)": correction != "step",
    }
    for call in (call for call, does_nothing in idle.items() if does_nothing):
        words = re.sub(rf"(?<![\w.]){call}", r"\1", words)
    return words


def _in_symbols(words: str, setting: Setting) -> str:
    """Rename hyper-parameters in a sentence to the setting's symbols, and calls of rules to what these make."""
    for rule in running(setting):
        made = [e.text.partition(" = ")[0] for e in equations(rule, setting.options)]
        if len(made) == 1 and made[0].replace("_", "").isalnum():
            new = "the new " * (made[0] in inspect.signature(rule).parameters)
            words = re.sub(rf"\b{rule.__name__}{ARGUMENTS}", new + made[0], words)
    rename = "eps" not in setting.numbers and "tau" in setting.numbers
    return re.sub(r"\beps\b", "tau", words) if rename else words
