"""Docstrings begin with the noun that the thing is or the verb that it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOTS = ("spec", "judge", "impl", "proofs_check", "benchmarks", "site", "vectors", "scripts", "examples")
PRONOUN = re.compile(
    r"(What|Whatever|One|Of|Where|Whether|Who|Whose|Whoever|That|Those|These|How|Which|The same|They|Nobody|Nothing)\b"
)
"""Beginnings without a noun or a verb: 'Whether x' is 'True if x', 'How many x' is 'Number of x'."""
QUOTED = re.compile(f"[\"']{PRONOUN.pattern}")


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the docstrings of modules, classes and functions, and the strings below assignments."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            for before, statement in zip([None, *body], body, strict=False):
                if documented if before is None else isinstance(before, ast.Assign | ast.AnnAssign):
                    match statement:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            yield text


def without_noun(text: str) -> list[str]:
    """List the docstrings of a file that begin with a pronoun, if any string of the file does."""
    return [doc for doc in docstrings(ast.parse(text)) if PRONOUN.match(doc)] if QUOTED.search(text) else []


def test_a_pronoun_at_the_beginning_is_found() -> None:
    text = '''"""What it does."""
A = 1
"""How many there are."""
class B:
    """The number."""
    def f(self):
        """Whether it holds."""
        "What is no docstring."
'''
    assert without_noun(text) == ["What it does.", "How many there are.", "Whether it holds."]
    assert without_noun('"""Offers of a package."""\ndef f():\n    """True if it holds."""\n') == []


@pytest.mark.parametrize("folder", ROOTS)
def test_no_docstring_begins_with_a_pronoun(folder: str) -> None:
    assert {
        str(p): bad for p in (ROOT / folder).rglob("*.py") if (bad := without_noun(p.read_text(encoding="utf-8")))
    } == {}
