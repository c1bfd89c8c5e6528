"""Markdown for the summary of a CI job: a sentence for each offer that does not conform, then the table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from fedspec_suite.judge.expected_failures import Complaint
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.verdict import Result
from fedspec_suite.report import sentences

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>()#+!|~&@-])")


def markdown(results: Sequence[Result], complaints: Sequence[Complaint], ran: str) -> str:
    """Return the text of the Markdown file.

    Args:
        results: the offers.
        complaints: faults of the file of expected failures.
        ran: profile, seed and duration of the run, in words.
    """
    names = sentences.names(results)
    lines = [f"**{_words(sentences.tally(results))}**", ""]
    for r, name in zip(results, names, strict=True):
        if r.verdict in sentences.TOLD:
            said = "" if r.verdict in sentences.OPEN_IN else f"{r.verdict}: "
            lines.append(f"* **{_words(name)}** {_words(said + sentences.head(r))}")
            lines += [f"  {_words(told)}" for told in [sentences.in_equations(r)] if told]
            lines += [f"  Remedy: {_words(said)}" for said in sentences.remedies(r)]
            lines += [f"  Again: {_code(line)}" for line in (r.command, *sentences.replays(r)) if line]
    lines += [f"* {_words(str(c))}" for c in complaints]
    columns = ("implementation", "algorithm", "level", "reading claimed", "verdict", "passed")
    lines += ["", f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for r in results:
        cells = (sentences.subject(r), r.algorithm, r.level, r.declared, r.said, f"{r.passed}/{r.required}")
        lines.append(f"| {' | '.join(map(_words, cells))} |")
    told = filter(None, (sentences.beyond(results), ran))
    return "\n".join([*lines, "", *map(_words, told), ""])


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Format a Markdown table; cells are Markdown already, and bars in them are escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _words(text: str) -> str:
    """Words that may be a subject's: they are shown as they are, and are no markup."""
    return _SPECIAL.sub(r"\\\1", escape_controls(text))


def _code(text: str) -> str:
    """A command, between as many backticks as it takes."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    return f"{fence}{space}{escape_controls(text)}{space}{fence}"
