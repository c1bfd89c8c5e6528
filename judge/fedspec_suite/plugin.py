"""The pytest plugin: ``pytest --pyargs fedspec_suite --fedspec-impl ADAPTER`` runs one test per check.

It does nothing unless it is asked, and imports the judge only then.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fedspec_suite.judge.expected_failures import Expectation
    from fedspec_suite.judge.obligations import OneByOne

HERE = Path(__file__).resolve()

OPEN = pytest.StashKey[ExitStack]()
"""Stash key of the running subjects, which ``pytest_unconfigure`` closes."""

JUDGED = pytest.StashKey[dict[str, "OneByOne"]]()
"""Stash key of the collected offers, by label."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the ``--fedspec-...`` options to pytest."""
    group = parser.getgroup("fedspec", "fedspec: judge an implementation, with `--pyargs fedspec_suite`")
    group.addoption("--fedspec-impl", metavar="ADAPTER", help="what to judge, as `fedspec check` takes it")
    group.addoption("--fedspec-only", metavar="P", action="append", help="[VARIANT:]ALGORITHM[/LEVEL[/READING]]")
    group.addoption("--fedspec-law", metavar="P", action="append", help="the laws to ask, with * and ?")
    group.addoption("--fedspec-profile", metavar="P", help="how many cases: quick (the default), full, soak")
    group.addoption("--fedspec-seed", metavar="N", type=int, help="seed of the drawn cases")
    group.addoption("--fedspec-expect", metavar="FILE", help="expected failures, a TOML file")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Ignore this package's other files: only this file has tests."""
    inside = config.getoption("fedspec_impl") and HERE.parent in collection_path.resolve().parents
    return True if inside and collection_path.resolve() != HERE else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """Return the collector of the implementation's tests if ``--fedspec-impl`` is given."""
    if parent.config.getoption("fedspec_impl") and file_path.resolve() == HERE:
        return Implementation.from_parent(parent, path=file_path)
    return None


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close the subjects that the plugin opened."""
    if OPEN in config.stash:
        config.stash[OPEN].close()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Write one line per offer that was checked only in part."""
    for label, asking in config.stash.get(JUDGED, {}).items():
        if said := asking.told():
            terminalreporter.write_line(f"fedspec: {label}: {said}")


class Implementation(pytest.File):
    """Collector of an implementation's tests: its offers, then the file of expected failures."""

    def collect(self) -> Iterator[pytest.Collector]:
        """Yield a collector for each offer, and one for the entries of the expected failures."""
        from fedspec.errors import FedspecError, to_install

        try:
            yield from self._offers()
        except FedspecError as error:
            raise self.CollectError(f"fedspec: {error}") from None
        except ImportError as error:
            raise self.CollectError(f"fedspec: {error}; {to_install('suite')}") from None

    def _offers(self) -> Iterator[pytest.Collector]:
        from fedspec_suite.cli.project import defaults
        from fedspec_suite.judge import locate
        from fedspec_suite.judge.expected_failures import read
        from fedspec_suite.judge.obligations import OneByOne, names
        from fedspec_suite.judge.plan import unmatched
        from fedspec_suite.judge.request import Request, chosen
        from fedspec_suite.judge.runner import laws_named, profile_named

        said = defaults(Path.cwd())

        def option(name: str) -> Any:
            given = self.config.getoption(f"fedspec_{name}")
            return said.get(name) if given is None else given

        file, only = option("expect"), tuple(option("only") or ())
        request = Request(
            implementations=(option("impl"),),
            only=only,
            law=laws_named(",".join(option("law") or "*")),
            profile=profile_named(option("profile") or "quick"),
            seed=int(option("seed") or 0),
            expect=read(Path(file)) if file else (),
            today=date.today(),
        )
        stack = self.config.stash.setdefault(OPEN, ExitStack())
        asked: list[OneByOne] = []
        offered: list[str] = []
        subjects = locate.expand(request.implementations[0])
        for name in subjects:
            subject = stack.enter_context(locate.opened(name))
            called = names(subject.info.offers)
            offered += called
            for number in chosen(subject.info.offers, only):
                asked.append(OneByOne(request, name, subject, number))
                label = called[number] if len(subjects) == 1 else f"{name}/{called[number]}"
                self.config.stash.setdefault(JUDGED, {})[label] = asked[-1]
                yield Offered.from_parent(self, name=label, nodeid=label, asking=asked[-1])
        if not asked:
            raise unmatched(request.implementations, only, offered)
        if request.expect:
            yield Entries.from_parent(self, name="expect", nodeid="expect", entries=request.expect, asked=asked)


class Offered(pytest.Collector):
    """Collector of the checks of one offer."""

    def __init__(self, *, asking: OneByOne, **more: Any) -> None:
        super().__init__(**more)
        self.asking = asking

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test for each obligation, that is each law and dtype of the offer."""
        for law, dtype in self.asking.rows:
            yield Asked.from_parent(self, name=f"{law}/{dtype}", asking=self.asking, row=(law, dtype))


class Unmet(AssertionError):
    """Failure of an obligation; pytest prints its text alone, without a traceback of the judge."""


class _Test(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The text alone, where an obligation is not met."""
        if isinstance(excinfo.value, Unmet):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, None, str]:
        """Location for reports."""
        return HERE, None, self.nodeid


class Asked(_Test):
    """Test of one obligation of an offer."""

    def __init__(self, *, asking: OneByOne, row: tuple[str, str], **more: Any) -> None:
        super().__init__(**more)
        self.asking, self.row = asking, row

    def runtest(self) -> None:
        """Run the law on the offer; skip, expect the failure or raise :class:`Unmet` by its status."""
        from fedspec_suite.measure.verdict import Status
        from fedspec_suite.report import sentences, verdicts
        from fedspec_suite.report.partial_conformance import refusal

        o = self.asking.ask(*self.row)
        match o.status:
            case Status.SKIP:
                pytest.skip(o.reason)
            case Status.XFAIL:
                pytest.xfail(sentences.finding_alone(o))
            case Status.FAIL | Status.ERROR | Status.INCONCLUSIVE:
                unread = o.deviation is not None and o.deviation.unread
                near, data = self.asking.nearest(o.law) if o.status is Status.FAIL and not unread else ("", [])
                zeros = self.asking.refused if self.row == self.asking.refusing else None
                said = f"{refusal(zeros)}; all that is asked later is asked without it" if zeros else ""
                broken = (
                    sentences.finding_alone(o)
                    if o.status is Status.FAIL
                    else f"{o.status}: {said or sentences.finding_alone(o)}"
                )
                lines = (
                    broken,
                    said if said not in broken else "",
                    f"check: {sentences.words(o.law)}",
                    f"nearest known: {near}" if near else "",
                    verdicts.equations_text(data),
                    f"again: {self.asking.again(o.law)}",
                    o.detail,
                )
                raise Unmet("\n".join(filter(None, lines)))


class Entries(pytest.Collector):
    """Collector of the entries in the file of expected failures."""

    def __init__(self, *, entries: tuple[Expectation, ...], asked: list[OneByOne], **more: Any) -> None:
        super().__init__(**more)
        self.entries, self.asked = entries, asked

    def collect(self) -> Iterator[pytest.Item]:
        """Yield one test for each entry, which passes if the entry excuses an obligation that ran and failed."""
        for entry in self.entries:
            yield Entry.from_parent(self, name=str(entry.number), entry=entry, asked=self.asked)


class Entry(_Test):
    """Test of one entry in the file of expected failures."""

    def __init__(self, *, entry: Expectation, asked: list[OneByOne], **more: Any) -> None:
        super().__init__(**more)
        self.entry, self.asked = entry, asked

    def runtest(self) -> None:
        """Raise :class:`Unmet` if the entry is out of date, for example if it excuses no failure."""
        from fedspec_suite.judge.expected_failures import Complaint, wrong

        mine = [o for asking in self.asked for o in asking.about(self.entry)]
        request = self.asked[0].request
        if words := wrong(self.entry, mine, request.today, only=tuple(request.only), law=request.law):
            raise Unmet(str(Complaint(self.entry, words)))
