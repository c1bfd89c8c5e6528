"""Conversion of formulas in plain text, such as ``|grad f(x_t)|^2 <= r(T)``, to MathML; other words stay unchanged.

What stands beside a token decides whether it is part of a formula.
"""

from __future__ import annotations

import re
from html import unescape

from markupsafe import Markup

from fedspec_site.mathml import ACCENTED, GREEK, PRODUCTS, RELATIONS, SIGNS, Reader, Token
from fedspec_site.text import LINKED, ticks

TOKENS = re.compile(
    rf"(?P<word>`[^`]*`|{LINKED.pattern}"
    r"|\bL\d\d+(?:-\d+)?|\w[\w-]*['’](?:s|t|re)\b|[^\W\d_]{3,}['’](?!\w)"
    r"|[^\W\d_]{2,}\d*(?:-[^\W\d_]\w*)+|\b[A-Z]\.\d[\w.]*)|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<name>[^\W\d_]+\d*(?:_hat(?![^\W_]))?)|(?P<sign><=|>=|!=|<<|>>|->|\.\.\.?|\|\||[-+*/=<>^_'~|()\[\]{},;])|(?P<other>\S)"
)
CLOSED_BY = {"(": ") ]", "[": "] )", "{": "}", "|": "|", "||": "||", "<": ">"}
FUNCTIONS = {"sqrt", "log", "exp", "min", "max", "ceil", "floor", "sign", "argmin", "var", "grad", "sum", "int", "prod"}
NAMES = {"gap", "tail", "Lay", "Lam", "fac", "oo"}
"""Names with more than one letter that the statements use."""
WITHIN = {"avg", "consensus", "drift", "error", "in", "mean", "of", "over", "rest", "sum"}
"""Words that may occur inside a formula's brackets."""
MATHS = re.compile(r"<math\b.*?</math>")
ALONE = re.compile(r'<math alttext="([^"]*)">.*?</math>')
OPERATOR = re.compile(r"[-+*/=<>^]|sqrt")
ID = re.compile(r"[\w-]+\.\w+(?: \[.*\])?")
"""Pattern of the id of an equation, with the options under which it holds."""
CODE = re.compile(r"[_^]|\w\(")
"""Pattern of what a formula leaves behind that isn't read as one."""


def formula(text: str) -> Markup:
    """Convert an equation to HTML; one that isn't read as formulas and words stays as it was typed."""
    made = prose(text)
    return Markup("<code>{}</code>").format(text) if CODE.search(MATHS.sub("x", made)) else made


def box(text: str) -> Markup:
    """Convert pseudocode to HTML, line by line, with remarks and ids of equations on the right."""
    return Markup("\n").join(map(_line, text.splitlines()))


def _line(line: str) -> Markup:
    first, *others = re.split(" {2,}", line.strip())
    parts = [Markup("<span>{}</span>").format(formula(first)), *map(_part, others)]
    return Markup('<div style="--in:{}">{}</div>').format(len(line) - len(line.lstrip()), Markup(" ").join(parts))


def _part(text: str) -> Markup:
    if ID.fullmatch(text):
        return Markup("<small><code>{}</code></small>").format(text)
    beside = text[0] == "(" and text[-1] == ")"
    return Markup("<small>{}</small>" if beside else "<span>{}</span>").format(formula(text))


def prose(text: str) -> Markup:
    """Convert text to HTML with formulas as MathML and backticks as code."""
    text = re.sub(r"\s+", " ", text)
    tokens = _tokens(text)
    _name(tokens)
    _pair(tokens)
    out, last, k = Markup(), 0, 0
    while k < len(tokens):
        begin = k
        while k < len(tokens) and tokens[k].maths and not (k > begin and _is_aside(tokens, k)):
            k = tokens[k].mate + 1 if tokens[k].mate > k else k + 1
        first, end = _trimmed(tokens, begin, k)
        if _is_formula(tokens[first:end]):
            source = text[tokens[first].start : tokens[end - 1].end]
            maths = Markup(Reader(tokens).row(first, end))
            out += _words(text[last : tokens[first].start]) + Markup('<math alttext="{}">{}</math>').format(
                source, maths
            )
            last = tokens[end - 1].end
        k = max(k, begin + 1)
    return out + _words(text[last:])


def typeset(text: str) -> Markup:
    """Convert text to HTML as :func:`prose` does, but leave a name or number without an operator as it was typed."""

    def kept(m: re.Match[str]) -> str:
        return m[0] if OPERATOR.search(unescape(m[1])) else m[1]

    return Markup(ALONE.sub(kept, prose(text)))


def _is_aside(tokens: list[Token], k: int) -> bool:
    """True if a bracket has a statement of its own, such as (K = 1) behind another one."""
    inner = tokens[k + 1 : max(tokens[k].mate, 0)]
    return tokens[k].text == "(" and tokens[k].spaced and any(one.text in RELATIONS and one.mate < 0 for one in inner)


def _words(text: str) -> Markup:
    """The words between formulas: code between ticks, relations as signs."""
    parts = text.split("`")
    parts[::2] = [re.sub("[<>]=|->", lambda m: SIGNS[m[0]], part) for part in parts[::2]]
    return ticks("`".join(parts))


def _tokens(text: str) -> list[Token]:
    found: list[Token] = []
    for m in TOKENS.finditer(text):
        spaced = not found or found[-1].end < m.start()
        found.append(Token(m[0], str(m.lastgroup), m.start(), m.end(), spaced))
    return found


def _name(tokens: list[Token]) -> None:
    """Decide which names, numbers and signs may be in a formula."""
    for k in reversed(range(len(tokens))):
        one, after = tokens[k], tokens[k + 1] if k + 1 < len(tokens) else Token("", "other", 0, 0, True)
        before = tokens[k - 1] if k else Token("", "other", 0, 0, True)
        letters = one.text.rstrip("0123456789").removesuffix("_hat")
        if one.kind == "name":
            scripted = not after.spaced and after.text in ("_", "^", "~", "'")
            scripted |= not one.spaced and before.text in ("_", "^")
            one.maths = len(letters) == 1 or letters.lower() in GREEK or scripted or letters in NAMES | PRODUCTS
            one.maths |= bool(ACCENTED.fullmatch(one.text))
            if letters in FUNCTIONS:
                one.maths = scripted or after.text in ("(", "|", "||") or (after.maths and after.kind != "sign")
            elif one.text in ("a", "A") and after.spaced and after.kind in ("name", "word"):
                # An article, unless a sign before it or after it says that it is a name.
                one.maths = (after.maths and one.text == "A") or before.text in ("+", "-", "/", "=", "<=")
        else:
            one.maths = one.kind in ("number", "sign")
            if one.text in "+-*" and not one.spaced and before.kind in ("name", "sign"):
                ends = after.spaced or after.kind == "other" or after.text in (")", "]", "|", "||", "/", ",", ";", "^")
                one.kind = "mark" if before.text in ("_", "^") or (ends and before.kind == "name") else one.kind


def _pair(tokens: list[Token]) -> None:
    """Find each bracket's mate; a bracket around words, a comma outside brackets and a lone bracket are no formula."""
    open: list[int] = []
    pure: dict[int, bool] = {}

    def ends_operand(k: int) -> bool:
        return (
            k >= 0
            and tokens[k].maths
            and (tokens[k].kind != "sign" or tokens[k].text in ("'", "~") or -1 < tokens[k].mate < k)
        )

    for k, one in enumerate(tokens):
        if not one.maths:
            within = one.text in WITHIN
            pure.update((at, pure[at] and within) for at in open)
            while open and not within and tokens[open[-1]].text in ("|", "||", "<"):
                tokens[open.pop()].maths = False
            one.maths, one.kind = within and bool(open), "text" if within else one.kind
            continue
        top = tokens[open[-1]].text if open else ""
        tight = not one.spaced and k + 1 < len(tokens) and not tokens[k + 1].spaced
        bar = one.text in ("|", "||")
        if top and one.text in CLOSED_BY[top].split() and ((not bar and one.text != ">") or ends_operand(k - 1)):
            begin = open.pop()
            one.mate, tokens[begin].mate = begin, k
            if not pure[begin]:
                one.maths = tokens[begin].maths = False
                one.mate = tokens[begin].mate = -1
        elif (
            bar and ends_operand(k - 1) and ((top == "[" and one.spaced) or (top == "(" and tight and one.text == "||"))
        ):
            continue
        elif (
            one.text in ("(", "[", "{")
            or bar
            or (
                one.text == "<"
                and (k + 1 < len(tokens) and not tokens[k + 1].spaced)
                and (one.spaced or not ends_operand(k - 1) or tokens[k - 1].text == "E")
            )
        ):
            open.append(k)
            pure[k] = True
        elif one.text in (")", "]", "}"):
            one.maths = False
    for k in open:
        tokens[k].maths = False
    depth = 0
    for k, one in enumerate(tokens):
        depth += (one.mate > k) - (-1 < one.mate < k)
        if not depth and (one.text in (",", ";") or one.kind == "text"):
            one.maths = False


def _trimmed(tokens: list[Token], first: int, end: int) -> tuple[int, int]:
    """A run without the signs at its ends that have nothing to join there."""
    while (
        first < end
        and _is_idle(tokens[first])
        and (tokens[first].text != "-" or end - first < 2 or tokens[first + 1].spaced)
    ):
        first += 1
    while first < end and _is_idle(tokens[end - 1]):
        end -= 1
    return first, end


def _is_idle(one: Token) -> bool:
    return one.kind == "sign" and one.mate < 0 and one.text not in ("'", "~", "...")


def _is_formula(run: list[Token]) -> bool:
    """True if a run is more than numbers, and more than a letter in brackets, such as the (A) of a list."""
    texts = [one.text for one in run]
    if len(run) == 3 and texts[0] == "(" and texts[2] == ")":
        return False
    return any(one.kind == "name" for one in run) or any(text in ("=", "<=", ">=", "^", "/") for text in texts[1:])
