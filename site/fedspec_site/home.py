"""The front page: the README's sentence, its install lines, its diagnosis, and a door for each of four readers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from fedspec.catalogue import CATALOGUE
from fedspec.papers import PAPERS
from fedspec_proofs import ledger
from fedspec_site import results, verdicts
from fedspec_site.writing import ROOT, Source
from fedspec_torch import recipes


@dataclass(frozen=True)
class Readme:
    """Parts of the README that the front page shows.

    Attributes:
        sentence: the sentence that describes fedspec.
        more: the rest of that paragraph.
        needs: the requirements below "Install".
        install: the lines of commands there.
        question: the heading of the diagnosis.
        before: the text before its lines.
        lines: the lines by which fedspec drives the reader's code.
        asked: the command of the diagnosis.
        answer: the lines below the command.
        after: the README's words on the answer.
    """

    sentence: str
    more: str
    needs: str
    install: tuple[str, ...]
    question: str
    before: str
    lines: str
    asked: str
    answer: tuple[str, ...]
    after: str


def readme() -> Readme:
    """The README, taken apart."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = " ".join(text.split("\n\n")[1].split())
    sentence, _, more = first.partition(". ")
    install = re.search(r"^## Install\n\n(.*?)^```\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    asked = re.search(
        r"^## (?P<question>Is .*?\?)\n\n(?P<before>.*?)\n\n```python\n(?P<lines>.*?)^```\n"
        r"```\n\$ (?P<asked>fedspec check [^\n]*)\n(?P<answer>.*?)^```\n\n(?P<after>.*?)\n\n",
        text,
        re.DOTALL | re.MULTILINE,
    )
    if not (install and asked):
        raise ValueError(
            "README.md: want a block below `## Install`, and below a question one of Python and a `$ fedspec check`"
        )
    lines = tuple(line for line in asked["answer"].splitlines() if line != "...")
    found = {name: asked[name] for name in ("question", "lines", "asked", "after")}
    return Readme(
        sentence=f"{sentence}.",
        more=more,
        # What stands in brackets there is a link and nothing else.
        needs=_plain(re.sub(r" \(\[.*?\)\)", "", install[1])),
        install=tuple(install[2].splitlines()),
        before=_plain(asked["before"]),
        answer=lines,
        **found,
    )


def _plain(text: str) -> str:
    """Words without their links."""
    return " ".join(re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).split())


def write(source: Source) -> None:
    """Write the page."""
    kinds = [o.kind for o in results.offers()]
    claims = ledger.claims().values()
    source.page(
        "index",
        "index",
        readme=readme(),
        counts={
            "algorithms": len(CATALOGUE),
            "packages": len(results.by_package()),
            "offers": len(kinds),
            "conforming": kinds.count(verdicts.CONFORMS),
            "papers": len(PAPERS),
            "claims": len(claims),
            "refuted": sum(c.verdict == "refuted" and c.printed for c in claims),
            "recipes": len(recipes.names()),
        },
    )
