"""Conversion of a formula's tokens to MathML: arithmetic, relations, scripts, brackets, roots and names.

:mod:`fedspec_site.formulas` finds the tokens in the words around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import escape

_LETTERS = (
    "α alpha β beta γ gamma δ delta ε epsilon ε eps ζ zeta η eta θ theta ϑ vartheta κ kappa λ lambda λ lam μ mu ν nu "
    "ξ xi π pi ρ rho σ sigma τ tau φ phi χ chi ψ psi ω omega"
)
GREEK = {name: letter for letter, name in re.findall(r"(\w) (\w+)", _LETTERS)}
OPEN, CLOSE = (f'<mo stretchy="false">{sign}</mo>' for sign in "()")
ASCII = ("<=", ">=", "!=", "<<", ">>", "->", "-", "*", "||", "..", "...")
SIGNS = dict(zip(ASCII, "≤≥≠≪≫→−·‖……", strict=True))
RELATIONS = {"<=", ">=", "!=", "<<", ">>", "->", "=", "<", ">"}
LOOSE = {"+", "-", ",", ";"} | RELATIONS
LETTERS = {"grad": "∇", "sum": "∑", "int": "∫", "prod": "∏", "oo": "∞"}
PRODUCTS = {"IL", "IM", "JW", "Km", "Kn", "RIM", "WJ", "WX"}
"""Products that the statements write without a space."""
ACCENTED = re.compile(r"(?![Ww]hat|[Tt]hat|chat)([A-Za-z]|Delta)(hat|tilde|bar)")


SUMS = ("sum", "int", "prod")
"""Words for signs that apply to the whole product behind them."""


@dataclass
class Token:
    text: str
    kind: str
    start: int
    end: int
    spaced: bool
    maths: bool = False
    mate: int = -1
    """Index of the matching bracket; -1 if there is none."""


class Reader:
    """Converter of a run of tokens to MathML."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.k = self.end = 0
        self.flat = False
        """True if a fraction is written along the line, as in an exponent."""

    def row(self, first: int, end: int) -> str:
        """Return the tokens from ``first`` to ``end`` as a MathML row."""
        kept, (self.k, self.end) = (self.k, self.end), (first, end)
        parts: list[str] = []
        product = 0
        while self.k < self.end:
            one = self.tokens[self.k]
            if one.text == "/" and len(parts) > product and not self.flat:
                self.k += 1
                # "a b / c" divides all of the product, "a b/c" its last factor.
                since = product if one.spaced else len(parts) - 1
                above, below = "".join(parts[since:]), self.divisor() if self.k < self.end else ""
                parts[since:] = [f"<mfrac><mrow>{_bare(above)}</mrow><mrow>{_bare(below)}</mrow></mfrac>"]
            elif one.mate < 0 and one.kind == "sign" and one.text not in ("'", "..."):
                self.k += 1
                parts.append(f"<mo>{_sign(one.text)}</mo>")
                product = len(parts) if one.text in LOOSE else product
            else:
                parts.append(self.factor())
                product = len(parts) if one.text in SUMS else product
        self.k, self.end = kept
        return "".join(parts)

    def divisor(self) -> str:
        """Return what divides: one factor, or a sum with all factors that it adds up."""
        adds, text = self.tokens[self.k].text in SUMS, self.factor()
        while adds and self.k < self.end and (self.tokens[self.k].kind != "sign" or self.tokens[self.k].mate > self.k):
            text += self.factor()
        return text

    def factor(self) -> str:
        """Return a name, number or group with its scripts and arguments."""
        one, text = self.tokens[self.k], self.scripted(self.base(self.tokens[self.k]))
        if self.tight("(", "[") and one.kind == "name":
            text = self.scripted(f"<mrow>{text}<mo>&#x2061;</mo>{self.group()}</mrow>")
        return text

    def tight(self, *texts: str) -> bool:
        """True if the next token is one of these, without a space before it."""
        return self.k < self.end and not self.tokens[self.k].spaced and self.tokens[self.k].text in texts

    def scripted(self, base: str) -> str:
        """Return a base with the marks and scripts that follow it."""
        below, above = "", ""
        while self.tight("'", "~", "_", "^", "+", "-", "*"):
            one = self.tokens[self.k]
            if one.text in "+-*" and one.kind != "mark":
                break
            self.k += 1
            if one.text == "'":
                base = f'<mrow>{base}<mo lspace="0" rspace="0">′</mo></mrow>'
            elif one.text == "~":
                base = f'<mover accent="true">{base}<mo>~</mo></mover>'
            elif one.kind == "mark":
                above += f"<mo>{_sign(one.text).replace('·', '∗')}</mo>"
            elif (
                one.text == "_"
                and above
                and (not base.startswith(("<mi", "<mover")) or self.tokens[self.k - 2].text in GREEK)
            ):
                # The exponent's own index, as in (1 - c)^K_i, beta1^t_i and rho^tau_i, but not in x^i_t.
                above = f"<msub><mrow>{above}</mrow><mrow>{self.script()}</mrow></msub>"
            elif one.text == "_":
                below += self.script()
            else:
                above += self.script()
        rows = "".join(f"<mrow>{part}</mrow>" for part in (below, above) if part)
        tag = "msubsup" if below and above else "msub" if below else "msup"
        return f"<{tag}>{base}{rows}</{tag}>" if rows else base

    def base(self, one: Token) -> str:
        if one.mate > self.k:
            group = self.group()
            bare = _bare(group)
            return bare if _is_one(bare, "mfrac") and not self.tight("^", "'") else group
        self.k += 1
        after = self.tokens[self.k] if self.k < self.end else None
        if one.kind == "number":
            return f"<mn>{one.text}</mn>"
        if one.kind == "sign":
            return f"<mo>{_sign(one.text)}</mo>" + (self.factor() if one.text in "+-" and self.k < self.end else "")
        if after and after.text == "(" and one.text in ("sqrt", "ceil", "floor"):
            inner = _bare(self.group())
            if one.text == "sqrt":
                return f"<msqrt><mrow>{inner}</mrow></msqrt>"
            left, right = "⌈⌉" if one.text == "ceil" else "⌊⌋"
            return f"<mrow><mo>{left}</mo>{inner}<mo>{right}</mo></mrow>"
        return self.name(one)

    def name(self, one: Token) -> str:
        """Return a name as MathML letters."""
        if one.text in LETTERS:
            tag = "mi" if one.text in ("oo", "grad") else "mo"
            return f"<{tag}>{LETTERS[one.text]}</{tag}>"
        if accented := ACCENTED.fullmatch(one.text):
            sign = {"tilde": "~", "hat": "^", "bar": "¯"}[accented[2]]
            return f'<mover accent="true">{name_markup(accented[1])}<mo>{sign}</mo></mover>'
        if one.kind == "text":
            return f"<mtext>&#xa0;{one.text}&#xa0;</mtext>"
        return "".join(map(name_markup, one.text)) if one.text in PRODUCTS else name_markup(one.text)

    def group(self) -> str:
        """Return a bracket with its content."""
        first = self.k
        last = self.tokens[first].mate
        inner = self.row(first + 1, last)
        self.k = last + 1
        left, right = (_sign(self.tokens[at].text) for at in (first, last))
        if left == "&lt;":
            left, right = "⟨", "⟩"
        return f'<mrow><mo stretchy="false">{left}</mo>{inner}<mo stretchy="false">{right}</mo></mrow>'

    def script(self) -> str:
        """Return the content of a subscript or superscript."""
        if self.k >= self.end:
            return ""
        one = self.tokens[self.k]
        if one.mate > self.k:
            kept, self.flat = self.flat, True
            inner = _bare(self.group())
            self.flat = kept
            return inner
        self.k += 1
        if one.kind in ("sign", "mark"):
            return f"<mo>{_sign(one.text)}</mo>"
        return f"<mn>{one.text}</mn>" if one.kind == "number" else self.name(one)


def _sign(text: str) -> str:
    return str(escape(SIGNS.get(text, text)))


def _bare(text: str) -> str:
    """A group without its round brackets, where a fraction, a root or a script shows what belongs together."""
    first, last = f"<mrow>{OPEN}", f"{CLOSE}</mrow>"
    grouped = text.startswith(first) and text.endswith(last) and _is_one(text, "mrow")
    return text[len(first) : -len(last)] if grouped else text


def _is_one(text: str, tag: str) -> bool:
    """True if all of a text is one element of that tag."""
    depth = 0
    for m in re.finditer(f"<(/?){tag}>", text):
        depth += -1 if m[1] else 1
        if not depth:
            return text.startswith(f"<{tag}>") and m.end() == len(text)
    return False


def name_markup(name: str) -> str:
    """Return a name as MathML: spelled Greek letters as symbols, digits as subscript."""
    hatted = name.endswith("_hat")
    base, *below = name.removesuffix("_hat").strip("_").split("_")
    if m := re.fullmatch(r"([a-zA-Z]+?)(\d+)", base):
        base, below = m[1], [m[2], *below]
    text = _symbol(base)
    if hatted:
        text = f'<mover accent="true">{text}<mo>^</mo></mover>'
    if not below:
        return text
    under = "<mo>,</mo>".join(_symbol(part) for part in below)
    return f"<msub>{text}<mrow>{under}</mrow></msub>"


def _symbol(word: str) -> str:
    if word.isdigit():
        return f"<mn>{word}</mn>"
    letter = GREEK.get(word.lower())
    if letter:
        return f"<mi>{letter if word.islower() else letter.upper()}</mi>"
    normal = ' mathvariant="normal"' if len(word) > 1 else ""
    return f"<mi{normal}>{escape(word)}</mi>"
