"""Judge whole subjects: every offer of each, one line of the table for each offer."""

from __future__ import annotations

import fnmatch
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from fedspec.contract import Offer
from fedspec.errors import UnknownNameError
from fedspec_suite.judge import locate
from fedspec_suite.judge.bench import Bench
from fedspec_suite.judge.diagnosis import diagnose
from fedspec_suite.judge.runner import PROFILES, judge_offer, result_of, setting_of
from fedspec_suite.judge.verdict import Conformity, Result


@dataclass(frozen=True)
class Request:
    """What to judge and how thoroughly.

    Attributes:
        implementations: names as typed on the command line.
        only: patterns ``ALGORITHM[/LEVEL[/CLAIM]]``; none means every offer.
        law: pattern of the laws to ask.
        profile: ``quick``, ``full`` or ``soak``.
        seed: of the drawn cases.
        limit: seconds that one answer may take.
        device: where the mirror runs.
    """

    implementations: Sequence[str]
    only: Sequence[str] = ()
    law: str = "*"
    profile: str = "full"
    seed: int = 0
    limit: float = 20.0
    device: str = "cpu"


def claim(offer: Offer) -> str:
    """The reading claimed and the choices declared, as the table prints them."""
    return " ".join([offer.reading, *(f"{n}={v}" for n, v in offer.options.items())])


def chosen(offer: Offer, only: Sequence[str]) -> bool:
    """Whether a pattern ``ALGORITHM[/LEVEL[/CLAIM]]`` matches the offer; no pattern matches all."""
    what = (offer.algorithm, offer.level, claim(offer))
    return not only or any(
        all(fnmatch.fnmatchcase(part, wanted or "*") for part, wanted in zip(what, pattern.split("/"), strict=False))
        for pattern in only
    )


def check(request: Request, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
    """Judge, one offer at a time.

    Raises:
        FedspecError: a name is unknown, or a subject cannot be started.
    """
    if request.profile not in PROFILES:
        raise UnknownNameError(f"profile: unknown {request.profile!r}; known: {', '.join(PROFILES)}")
    names = [name for given in request.implementations for name in locate.expand(given)]
    judged = 0
    for name in names:
        with locate.opened(name, limit=request.limit, device=request.device, progress=progress) as subject:
            for offer in subject.info.offers:
                setting_of(offer, offer.dtypes[0])
            for offer in subject.info.offers:
                if not chosen(offer, request.only):
                    continue
                judged += 1
                where = f"{name} {offer.algorithm}/{offer.level}"
                progress(where)
                obligations = judge_offer(
                    subject,
                    offer,
                    profile=request.profile,
                    seed=request.seed,
                    law=request.law,
                    progress=partial(_below, progress, where),
                )
                again = command(request, name, offer, subject.info.offers)
                result = result_of(subject, offer, obligations, command=again)
                yield _diagnosed(result, subject, offer)
    if not judged:
        raise UnknownNameError(
            f"only: nothing that {' '.join(request.implementations)} offers matches {' '.join(request.only)!r}; "
            f"patterns are ALGORITHM/LEVEL/CLAIM, see `fedspec smoke {request.implementations[0]}`"
        )


def _diagnosed(result: Result, subject: locate.Running, offer: Offer) -> Result:
    if result.verdict is not Conformity.DOES_NOT:
        return result
    setting = setting_of(offer, offer.dtypes[0])
    bench = Bench(subject, setting.algorithm, offer, setting.options, setting.dtype)
    return replace(result, nearest=diagnose(bench, setting))


def _below(progress: Callable[[str], None], where: str, law: str) -> None:
    progress(f"{where} {law}")


def command(request: Request, name: str, offer: Offer, offers: Sequence[Offer]) -> str:
    """The command that judges this offer alone again."""
    twins = [o for o in offers if (o.algorithm, o.level) == (offer.algorithm, offer.level)]
    what = f"{offer.algorithm}/{offer.level}" + (f"/{claim(offer)}" if len(twins) > 1 else "")
    words = ["fedspec", "check", name, "--only", what]
    for flag, value, default in (
        ("--law", request.law, "*"),
        ("--profile", request.profile, "full"),
        ("--seed", request.seed, 0),
        ("--limit", request.limit, 20.0),
        ("--device", request.device, "cpu"),
    ):
        if value != default:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)
