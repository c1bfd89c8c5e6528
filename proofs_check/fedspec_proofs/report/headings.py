"""Titles of claims, such as "FedAda2, Corollary 23: refuted"."""

from __future__ import annotations

import re
from typing import Any

from fedspec.papers import PAPERS

NUMBERED = re.compile(
    r"(?P<kind>eq|theorem|lemma|corollary|proposition|algorithm|assumption|remark|table|appendix)"
    r" (?P<number>(?:[a-z] )?\d+(?: \d+)*|[a-z])\b(?P<rest>.*)"
)
"""Words of an id that begin with a numbered statement."""

SHORT = {"Algorithm": "Alg.", "Appendix": "App."}
"""Other forms of these words in the papers' labels."""

_NAMES = ("AdaGrad", "Adam", "AGDU", "AMSGrad", "FedAMS", "FedAvg", "FedProx", "LAMB", "MimeLite", "SCAFFOLD", "SGD")
NAMES = {name.lower(): name for name in (*_NAMES, "SM3")}
"""Names in ids, as the papers print them."""


def headings(ledger: Any) -> dict[str, str]:
    """Return a title for each claim and false variant, by id; all titles differ."""
    return {id: _heading(claim, ledger) for id, claim in {**ledger.claims(), **ledger.variants()}.items()}


def _heading(claim: Any, ledger: Any) -> str:
    """Paper, number, what of it the claim is about, and verdict. The id tells the claims about one number apart."""
    paper, _, name = claim.id.partition(".")
    labels = {
        re.sub(r", L\d+.*", "", label): re.sub(r"[^a-z0-9]+", "-", label.lower()) for label in ledger.labels(claim)
    }
    labels = {label: slug.removesuffix("-") for label, slug in labels.items()}
    begun = [label for label, slug in labels.items() if f"{name}-".startswith(f"{slug}-")]
    label = max(begun, key=len, default=next(iter(labels), ""))
    rest = name.removeprefix(labels[label]) if begun else name
    kind, rest = numbered(rest.removesuffix("-repaired").strip("-").replace("-", " "), label)
    said = f"{claim.said}, false on purpose" if claim.false_of else claim.said
    return f"{', '.join(filter(None, (PAPERS[paper].name, label, kind, rest)))}: {said.replace('-here', ' here')}"


def numbered(words: str, label: str) -> tuple[str, str]:
    """Split words of an id into "Theorem 4.6" or "eq. (91)", unless the label has it, and the rest, with its names."""
    if words == label.lower():
        return "", ""
    words = re.sub(r"^false (?=\d)", "eq ", words)
    words = re.sub(r"^false (?=f \d)", "lemma ", words).removeprefix("false ")
    kind, forms = "", []
    if m := NUMBERED.match(words):
        number = m["number"].replace(" ", ".").upper()
        word, words = m["kind"].capitalize(), m["rest"].strip()
        kind = f"eq. ({number})" if word == "Eq" else f"{word} {number}"
        forms = [f"({number})"] if word == "Eq" else [kind, f"{SHORT.get(word, word)} {number}"]
    rest = " ".join(NAMES.get(word, word) for word in re.sub(r"\bl ?(\d)", r"L\1", words).split())
    return "" if any(re.search(rf"{re.escape(form)}(?![.\w])", label) for form in forms) else kind, rest
