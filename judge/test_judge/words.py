"""The prose of a page in sentences, and what is hard to read in them: length, and turns that words.toml lists."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DATA: dict[str, Any] = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
WORDS = 25
"""The most that a sentence may have."""

NO_PROSE = re.compile(
    r"^[ ]*```.*?^[ ]*```$"  # code
    r"|^<!-- (?P<name>[^>]*?) -->$(?=.*?^<!-- end).*?^<!-- end[^>]*-->$"  # generated
    r"|<!--.*?-->"
    r"|^(?: {4}[^\n]*\n)+(?=\n)"  # formulas
    r"|^[ ]*[|#!].*?$",  # tables, headings, pictures
    re.MULTILINE | re.DOTALL,
)
ITEM = re.compile(r"\n\s*\n|\n(?=\s*(?:[*-]|\d+\.) )")
HEAD = re.compile(r"^((?:[*-]|\d+\.) )?\*\*[^*]*(\.\*\*|\*\*( \([^)]*\))?[.:])( |$)")
"""A heading in the line that it heads."""
BOLD = re.compile(r"(?<![\w)])\*\*(\S[^*]*)\*\*")
LINK = re.compile(r"\[([^]]*)\]\([^)]*\)")
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
QUOTED = re.compile(r"\*[^*]+\*")
"""Text of a message."""
SHORTENED = re.compile(r"\b(?:App|Alg|Cor|Eq|Eqs|Fig|Prop|Sec|Thm|app|cf|e\.g|eq|eqs|fig|i\.e|sec|vs)\. ")
JOINED = "\u00a0"
"""A blank at which no sentence ends."""

END = re.compile(r"(?<=[.!?])[)*\"]* +|(?<=:) +(?=[A-Z])")


@dataclass(frozen=True)
class Turn:
    """Words that a stranger reads twice, and how to say it instead."""

    found: re.Pattern[str]
    plain: str


TURNS = tuple(Turn(re.compile(t["turn"], re.IGNORECASE), t["plain"]) for t in DATA["turns"])


def paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs and items of lists of a page, each on one line, without the targets of links."""
    for part in ITEM.split(NO_PROSE.sub("\n\n", text)):
        words = LINK.sub(r"\1", BOLD.sub(r"\1", HEAD.sub("", " ".join(part.split()))))
        if words := re.sub(r"^(?:[*-]|\d+\.) ", "", words):
            yield words


def sentences(text: str) -> Iterator[str]:
    """The sentences of a page. A colon ends one if what follows begins like a sentence; a semicolon never does."""
    for paragraph in paragraphs(text):
        whole = CODE.sub(_joined, SHORTENED.sub(_joined, paragraph))
        yield from (words.replace(JOINED, " ") for words in END.split(whole) if words.strip())


def _joined(found: re.Match[str]) -> str:
    return found[0].replace(" ", JOINED)


def length(sentence: str) -> int:
    """Number of words; text between backticks is one."""
    return len(CODE.sub("code", sentence).split())


def faults(sentence: str) -> list[str]:
    """Faults of a sentence, each with its remedy."""
    ours = QUOTED.sub("quoted", CODE.sub("code", sentence))
    found = [f"'{m[0]}': {t.plain}" for t in TURNS if (m := t.found.search(ours))]
    return found + ([f"{n} words: cut it in two"] if (n := length(sentence)) > WORDS else [])


def refused(text: str) -> dict[str, list[str]]:
    """The sentences of a page that are hard to read, with what is hard in them."""
    return {words: found for words in sentences(text) if (found := faults(words))}
