"""Writers of ``--report FILE``: the file's suffix chooses the format."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TextIO

from fedspec.errors import FedspecError, ParameterError
from fedspec_suite.judge.expected_failures import Complaint
from fedspec_suite.measure.verdict import Result
from fedspec_suite.report.junit import junit
from fedspec_suite.report.markdown import markdown
from fedspec_suite.report.results_file import ResultsFile, Run, line
from fedspec_suite.report.results_page import page
from fedspec_suite.report.sarif import sarif

Whole = Callable[[Sequence[Result], Sequence[Complaint], str], str]

WHOLE: dict[str, tuple[str, Whole]] = {
    ".xml": ("JUnit", junit),
    ".md": ("Markdown", markdown),
    ".sarif": ("SARIF", sarif),
}
"""Formats that are written after all offers were judged, by suffix."""

PAGE = ".html"
"""Suffix of the HTML page, the same page as ``fedspec report`` makes."""

LINES = ".jsonl"
"""Suffix of JSON lines, which are written as offers are judged; also the format of a file without a suffix."""

_WORDS = {LINES: "a JSON object a line", **{suffix: words for suffix, (words, _) in WHOLE.items()}, PAGE: "a page"}

KNOWN = ", ".join(f"{suffix} ({words})" for suffix, words in _WORDS.items())


class Report:
    """Report file under construction; an existing file is overwritten only when the first offer is judged."""

    def __init__(self, path: Path, run: Run = Run()) -> None:  # noqa: B008, it is frozen
        """Open the file, so that a path that cannot be written is rejected before the work begins.

        Args:
            path: the file.
            run: metadata of the run, which every line repeats.

        Raises:
            ParameterError: no form has its suffix.
            FedspecError: it cannot be written.
        """
        self.path = path
        self.run = run
        self.failure = ""
        self._results: list[Result] = []
        self._new = not path.exists()
        if path.suffix not in ("", *_WORDS):
            raise ParameterError(f"report: {path} ends in {path.suffix!r}; known: {KNOWN}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: TextIO = path.open("a", encoding="utf-8")
        except OSError as error:
            raise FedspecError(f"report: cannot write {path} ({error.strerror}); give another file") from error

    def write(self, result: Result) -> None:
        """Add an offer's result; after the first I/O error, nothing more is written."""
        first = not self._results
        self._results.append(result)
        if self.path.suffix in ("", LINES):
            self._put(json.dumps(line(result, self.run)) + "\n", afresh=first)

    def close(self, complaints: Sequence[Complaint] = (), ran: str = "") -> None:
        """Write the remaining content and close the file; without any result, restore the former state."""
        if self._results and self.path.suffix in WHOLE:
            self._put(WHOLE[self.path.suffix][1](self._results, complaints, ran), afresh=True)
        if self._results and self.path.suffix == PAGE:
            stored = ResultsFile("", tuple(self._results), (self.run,) * len(self._results))
            self._put(page([stored], complaints=complaints), afresh=True)
        try:
            self._stream.close()
            if self._new and not self._results:
                self.path.unlink()
        except OSError as error:
            self._failed(error)

    def _put(self, text: str, afresh: bool) -> None:
        if self.failure:
            return
        try:
            if afresh and self.path.is_file():
                self._stream.truncate(0)
            self._stream.write(text)
            self._stream.flush()
        except OSError as error:
            self._failed(error)

    def _failed(self, error: OSError) -> None:
        self.failure = self.failure or f"report: {self.path} is not complete ({error.strerror}); the table is"
