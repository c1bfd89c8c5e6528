"""Ask one question of every offer of some subjects; if an offer can't be asked, the answer gives the reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from fedspec.contract import Offer, Subject, SubjectInfo
from fedspec.errors import ContractError, FedspecError
from fedspec_suite.judge import locate
from fedspec_suite.judge.plan import unmatched
from fedspec_suite.judge.request import chosen, reason_of
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import format_declaration
from fedspec_suite.subjects import environments

T = TypeVar("T")


@dataclass(frozen=True)
class OfferAnswer(Generic[T]):
    """Answer of one offer, or the reason for its absence.

    Attributes:
        name: the subject, as it was typed.
        info: name, version and offers of the subject; None if it did not start.
        offer: the offer; none where there is none to speak of.
        answer: the requested answer; None if there is none.
        error: reason for a missing answer; else empty.
    """

    name: str
    info: SubjectInfo | None = None
    offer: Offer | None = None
    answer: T | None = None
    error: str = ""


def ask_all_offers(
    implementations: Sequence[str],
    ask: Callable[[Bench, Setting], T],
    *,
    only: Sequence[str] = (),
    limit: float,
    progress: Callable[[str], None],
) -> Iterator[OfferAnswer[T]]:
    """Call ``ask`` on the bench of each offer in turn and yield its answers.

    Raises:
        FedspecError: a name is unknown, or there is nothing that can be asked.
    """
    offered: list[str] = []
    refused: list[FedspecError] = []
    usable = False
    names = [name for given in implementations for name in locate.expand(given)]
    for name, made in environments.in_order(names, progress):
        try:
            made()
            with locate.opened(name, limit=limit, progress=progress) as subject:
                if not subject.info.offers:
                    raise ContractError(f"adapter: {name} claims nothing; list its claims in `info`")
                offered += [f"{o.algorithm}/{o.level}/{format_declaration(o)}" for o in subject.info.offers]
                for number in chosen(subject.info.offers, only):
                    offer = subject.info.offers[number]
                    try:
                        setting = setting_of(offer)
                    except FedspecError as error:
                        refused.append(error)
                        yield OfferAnswer(name, subject.info, offer, error=str(error))
                        continue
                    usable = True
                    yield _asked(name, subject, offer, setting, ask)
        except (ContractError, SubjectError) as error:
            refused.append(error)
            yield OfferAnswer(name, error=str(error))
    if not usable:
        raise refused[0] if refused else unmatched(implementations, only, offered)


def _asked(
    name: str, subject: Subject, offer: Offer, setting: Setting, ask: Callable[[Bench, Setting], T]
) -> OfferAnswer[T]:
    try:
        return OfferAnswer(name, subject.info, offer, ask(bench_of(subject, offer, setting), setting))
    except Exception as error:
        return OfferAnswer(name, subject.info, offer, error=reason_of(error))
