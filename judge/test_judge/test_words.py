"""The prose of the README and of docs is short and plain: judge/test_judge/words.toml says how."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from test_judge.words import TURNS, faults, length, paragraphs, refused, sentences

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]

PAGE = """\
# A heading of a page that goes on for much longer than any sentence may

One sentence. Another one: it has a colon; and a semicolon, eq. (4) of a
paper, sec. 5. [A link of five words](https://example.org/a. B) ends here! Does it?

```
What a block says. It is no prose.
```
<!-- a comment. With two sentences. -->
<!-- table: packages -->
* Generated. Twice.
<!-- end -->

| a table. | With cells. |
| --- | --- |

    ratio = |got - want|. No prose.

* First item
  goes on. **Bold.** `code. More code` follows.
* Second: Item
1. third
"""


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def test_a_page_is_cut_into_sentences() -> None:
    assert list(sentences(PAGE)) == [
        "One sentence.",
        "Another one: it has a colon; and a semicolon, eq. (4) of a paper, sec. 5.",
        "A link of five words ends here!",
        "Does it?",
        "First item goes on.",
        "Bold.",
        "`code. More code` follows.",
        "Second:",
        "Item",
        "third",
    ]
    assert len(list(paragraphs(PAGE))) == 4


def test_words_are_counted() -> None:
    assert length("a `b c d` e (f g), h-i.") == 6
    assert faults(" ".join("ab" for _ in range(25)) + ".") == []
    assert faults(" ".join("ab" for _ in range(26)) + ".") == ["26 words: cut it in two"]


@pytest.mark.parametrize(
    ("hard", "plain"),
    [
        ("Whoever has an algorithm in a file of her own has all of it.", "A file of your own has all of it."),
        ("The names that a word is said of.", "The names that WORD describes."),
        ("What comes next is the nearest variant.", "Next comes the nearest variant."),
        ("All is shown but for two claims.", "All is shown, except for two claims."),
    ],
)
def test_a_turn_is_refused_and_its_rewrite_is_not(hard: str, plain: str) -> None:
    assert refused(hard) and not refused(plain)


@pytest.mark.parametrize("turn", TURNS, ids=lambda turn: turn.plain)
def test_a_remedy_is_no_turn_itself(turn: object) -> None:
    plain = turn.plain  # type: ignore[attr-defined]
    assert not [t.plain for t in TURNS if t.found.search(re.sub(r", not .*", "", plain))]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_plain(page: str) -> None:
    assert refused(read(page)) == {}
