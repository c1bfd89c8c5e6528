"""What docstrings must not say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SAYS_NOTHING = re.compile(
    r"^\s+\w+: (so (it|they) \w+|there (is|are) (one|none)|there are more|"
    r"(it|one|somebody) (is|is not|has one|does|does not|is none|is neither)|as for \S+)\.$",
    re.MULTILINE,
)
"""Under Raises: a word that repeats the sentence above it, instead of what is refused."""


@pytest.mark.parametrize("root", ["spec", "impl", "judge", "proofs_check", "tests", "scripts", "docs", "examples"])
def test_errors_say_what_is_refused(root: str) -> None:
    files = sorted((ROOT / root).rglob("*.py"))
    assert files
    found = [f"{p.relative_to(ROOT)}: {m[0].strip()}" for p in files for m in SAYS_NOTHING.finditer(p.read_text())]
    assert not found, "say what is refused, in a few words"


def test_the_phrases_are_found() -> None:
    for phrase in (
        "so it does",
        "so they are",
        "there is none",
        "one is not",
        "it is neither",
        "there are more",
        "as for :func:`check`",
    ):
        assert SAYS_NOTHING.search(f"    Raises:\n        PlanError: {phrase}.\n")
    assert not SAYS_NOTHING.search("    Raises:\n        PlanError: somebody does not take part.\n")
