"""An offer says what its subject cannot take: no case goes beyond, what needs more is skipped, the report says so."""

from __future__ import annotations

import pytest
from test_judge.subjects.limited import limited
from test_judge.support import check, fedspec, py

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.declared_limits import broken_limit
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Obligation, Status

pytestmark = pytest.mark.table(1)

TOGETHER = [("fedavg", "server"), ("fednova", "server"), ("fedadam", "server"), ("cafga-a", "trace"), ("dsgd", "trace")]
TOGETHER += [(a, "round") for a in ("fedavg", "fednova", "fedadaadam", "dp-fedavg", "scaffold", "fednova-sampled")]
MATRICES = [("sgd", "client"), ("sm3-ii", "client"), ("sm3-i-delayed", "client"), ("lamb", "client")]
MATRICES += [("adam", "client"), ("fedavg", "server"), ("fedams", "server"), ("fedada2", "round"), ("fed-sgd", "round")]


def judged(algorithm: str, level: str, **limits: str) -> list[Obligation]:
    subject = limited(algorithm, level, **limits)
    return judge_offer(InProcess(subject), subject.offer, cases=2, law="*,properties")


@pytest.mark.parametrize(
    ("algorithm", "level", "limit", "skipped"),
    [
        *((*row, {"participation": "all"}, 3) for row in TOGETHER),
        *((*row, {"blocks": "matrices"}, 4) for row in MATRICES),
    ],
)
def test_who_takes_less_is_never_asked_for_more(
    algorithm: str, level: str, limit: dict[str, str], skipped: int
) -> None:
    """Clients that all take part, or matrices alone; nearly everything is asked."""
    found = judged(algorithm, level, **limit)
    assert conclude(found)[0] is Conformity.CONFORMS
    assert sum(o.status is Status.SKIP for o in found) <= skipped


@pytest.mark.parametrize(("algorithm", "level"), [("adam", "client"), ("fedavg", "server"), ("fed-sgd", "round")])
def test_who_takes_one_block_only_is_given_one(algorithm: str, level: str) -> None:
    assert conclude(judged(algorithm, level, blocks="one"))[0] is Conformity.CONFORMS


def test_what_needs_an_absent_client_is_skipped_with_the_reason() -> None:
    skipped = {o.law: o.reason for o in judged("joint-local", "round", participation="all") if o.status is Status.SKIP}
    assert skipped["bystander"] == "skipped: it has everyone in its cases: everybody takes part"


@pytest.mark.parametrize("limits", [{"participation": "all"}, {"blocks": "matrices"}, {"blocks": "one"}])
def test_the_first_look_keeps_to_the_limits_too(limits: dict[str, str]) -> None:
    seen = 0
    for a in CATALOGUE.values():
        refused = {"client"} if "participation" in limits else {"round"} if "matrices" in limits.values() else set()
        for level in {"client", "server", "round"} & {*a.levels} - refused:
            offer = Offer(a.id, level, a.readings[0].name, **limits)  # type: ignore[arg-type]
            assert not broken_limit(offer, plain_scenario(setting_of(offer)))
            seen += 1
    assert seen > 20


@pytest.mark.parametrize(
    ("subject", "claim", "limit"),
    [
        ("average", "mcmahan-2017 participation=all", "all clients in every round (fedavg/round)"),
        ("sm3", "fedada2 blocks=matrices", "matrices only (sm3-ii/client)"),
    ],
)
def test_the_report_says_what_was_kept_out(subject: str, claim: str, limit: str) -> None:
    ran = fedspec("check", py(f"limited:{subject}"), "--profile", "quick", "--jobs", "1", "--law", "repeats", cases=2)
    assert ran.code == 0, ran
    assert claim in ran.out
    assert f"the claims limit the cases: {limit}" in " ".join(ran.out.split())


@pytest.mark.slow
def test_the_json_says_it_too_and_a_zero_that_is_refused() -> None:
    (row,) = check(py("limited:average"), "--law", "repeats").rows
    assert (row["participation"], row["blocks"]) == ("all", "any")
    assert row["limits"] == ["all clients in every round"]
    assert row["id"].endswith("fedavg/round/mcmahan-2017 participation=all")
    (row,) = check(py("odd:nonzero"), "--law", "repeats").rows
    assert (row["nonzero"], row["limits"]) == (["beta1"], ["no beta1 = 0"])
