"""Docstrings begin with the noun that the thing is or the verb that it does."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOTS = ("spec", "judge", "impl", "proofs_check", "benchmarks", "site", "vectors", "scripts", "examples")
PRONOUN = re.compile(
    r"(What|Whatever|One|Of|Where|Whether|Who|Whose|Whoever|That|Those|These|How|Which|The same|They|Nobody|Nothing)\b"
)
"""Beginnings without a noun or a verb: 'Whether x' is 'True if x', 'How many x' is 'Number of x'."""
PREPOSITION = re.compile(r"(By|With|From|As|In)\b(?!-)")
QUOTED = re.compile(f"[\"']{PRONOUN.pattern}")
SECTION = re.compile(r" *(Args|Attributes|Raises|Returns|Yields):$")
ENTRY = re.compile(r" *[\w*, ]+: (what|how|whether|which|where|when|why|who|whose|of|that|those|these|they)\b")
"""Line of an argument, attribute or exception that begins without a noun or a verb."""


def docstrings(tree: ast.AST, private: bool = True) -> Iterator[str]:
    """Yield the docstrings of modules, classes and functions, and the strings below assignments."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and (private or not str(getattr(node, "name", "")).startswith("_")):
            documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            for before, statement in zip([None, *body], body, strict=False):
                if documented if before is None else isinstance(before, ast.Assign | ast.AnnAssign):
                    match statement:
                        case ast.Expr(value=ast.Constant(value=str(text))):
                            yield text


def without_noun(text: str) -> list[str]:
    """List the docstrings of a file that begin with a pronoun, if any string of the file does."""
    return [doc for doc in docstrings(ast.parse(text)) if PRONOUN.match(doc)] if QUOTED.search(text) else []


def begins_with_preposition(text: str) -> list[str]:
    """List the docstrings of a file's public names that begin with a preposition."""
    quoted = re.search(f"[\"']{PREPOSITION.pattern}", text)
    return [doc for doc in docstrings(ast.parse(text), private=False) if PREPOSITION.match(doc)] if quoted else []


def entries(doc: str) -> Iterator[str]:
    """Yield the lines below the first section of a docstring that begin without a noun."""
    lines = doc.splitlines()
    below = next((k for k, line in enumerate(lines) if SECTION.match(line)), len(lines))
    yield from (line.strip() for line in lines[below:] if ENTRY.match(line))


def entries_without_noun(text: str) -> list[str]:
    """List the arguments, attributes and exceptions of a file whose descriptions begin without a noun."""
    found = any(map(ENTRY.match, text.splitlines()))
    return [entry for doc in docstrings(ast.parse(text)) for entry in entries(doc)] if found else []


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


def test_a_preposition_at_the_beginning_of_a_public_docstring_is_found() -> None:
    text = '''"""In-place server."""
A = 1
"""In brackets."""
class B:
    """As before."""
def f():
    """Proof by induction."""
def _g():
    """By hand."""
'''
    assert begins_with_preposition(text) == ["In brackets.", "As before."]


def test_an_argument_without_a_noun_is_found() -> None:
    text = '''def f(a, b):
    """Add: whether or not.

    Rule: what precedes a section is prose.

    Args:
        a, b: what to add.
        c: number, or what stands for it.

    Raises:
        KeyError: where none is known.
    """
'''
    assert entries_without_noun(text) == ["a, b: what to add.", "KeyError: where none is known."]


@pytest.mark.parametrize("of", [without_noun, begins_with_preposition, entries_without_noun])
@pytest.mark.parametrize("folder", ROOTS)
def test_no_docstring_begins_so(folder: str, of: Callable[[str], list[str]]) -> None:
    files = [*(ROOT / folder).rglob("*.py")]
    if of is begins_with_preposition:
        files = [p for p in files if "/test_" not in str(p.relative_to(ROOT))]
    assert not {str(p): bad for p in files if (bad := of(p.read_text(encoding="utf-8")))}
