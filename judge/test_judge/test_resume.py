"""Resume: a session that is saved and restored after every event is the same run, and what it loses is named."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import written
from test_judge.support import check, py, standalone

from fedspec import reference
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Case, Claim, Level, Offer, Subject
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.laws import lost_state, resume
from fedspec_suite.laws.lost_state import held, put
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity
from fedspec_torch.judged.subject import SUBJECT as MIRROR

LAW = ("--law", "resumes")
Then = Callable[[Any, Mapping[str, Any]], None]


def restored(offer: Claim, then: Then | None = None) -> Any:
    """The specification, whose restore is followed by something that knows what it was at its start, or is none."""

    def start(case: Case) -> Any:
        session: Any = reference.SUBJECT.start(case)
        first, restore, session.kept = held(session), session.restore, (*session.kept, "case")

        def otherwise(saved: bytes) -> None:
            if then:
                restore(saved)
                then(session, first)

        session.restore = otherwise
        return session

    return written(offer, start)


def said(name: str) -> str:
    """The first deviation of a subject of this folder, in a process of its own; empty if it conforms."""
    (row,) = check(py(f"resuming:{name}"), *LAW, explained=False).rows
    assert {o["law"] for o in row["obligations"] if o["status"] != "skip"} <= {"resumes", "reading-requires"}
    return str(row["first_deviation"])


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("name", ["right", "right_client", "diloco_whole"])
def test_a_right_one_is_the_same_run(name: str) -> None:
    assert not said(name)


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_m", "after restore, m is at its initial value"),
        ("no_moments", "after restore, m and v are at their initial values"),
        ("no_maximum", "after restore, v_hat is at its initial value"),
        ("zero_v", "after restore, v is zero"),
        ("turned", "after restore, m has the opposite sign"),
        ("absent", "after restore, m_i, v_i, t of clients that sat out: the initial value"),
        ("stale", "after restore, m is that of one event before"),
        ("narrow", "after restore, v went through float32"),
        ("scaled", "nothing is lost, but numbers come back rounded"),
        ("mixed", "after restore, v is m^2"),
        ("rooted", "after restore, v is sqrt(v)"),
        ("halved", "after restore, m is m / 2"),
        ("two_at_once", " losses that fedspec tried explains it"),
        ("loud", "saving changes what comes after"),
        ("rounds_for_steps", "after restore, t is the number of rounds so far"),
        ("events_for_t", "after restore, t is the number of events so far"),
        ("sorted_state", "after restore, the blocks of x, m, v are in the order of their names"),
        ("sorted_moment", "after restore, the blocks of m are in the order of their names"),
        ("first_moment", "after restore, m is that of the first event"),
        ("text", "the event after restore fails: TypeError"),
        ("silent", "has no method 'save'"),
        ("module", "after a restore in a new process, m and v are at their initial values"),
        ("no_begun", "after a restore that follows Begin, x is at its initial value"),
        ("no_count", "t is at its initial value"),
        ("scaffold", "after restore, c_i is at its initial value"),
        ("as_text", "after restore, c_i are restored to clients in the order of their numbers as text, 10 before 2"),
        ("seen_mean", "after restore, c is the mean over the clients seen so far of c_i"),
        ("rejoined", "after restore, c_i of every client is c"),
        ("half_model", "after restore, x went through float16"),
        ("half_state", "after restore, x, v, m_i, v_i went through float32"),
        ("outer", "after restore, v is at its initial value"),
        ("inner_moments", "after restore, m_i and v_i are at their initial values"),
        ("inner_count", "after restore, t is at its initial value"),
        ("one_count", "after restore, t of every client is the largest of all"),
        ("by_place", "m_i, v_i, t are restored to clients in the order in which these first took part"),
        ("last_change", "after restore, v is the last delta"),
        ("replicas", "after restore, X of every client is that of the first"),
    ],
)
def test_what_a_restore_loses_is_named(name: str, words: str) -> None:
    assert words in said(name)


def firsts(offers: Sequence[Offer]) -> list[Offer]:
    """The first offer of each algorithm, level and variant."""
    found: dict[tuple[str, str, str], Offer] = {}
    for o in offers:
        found.setdefault((o.algorithm, o.level, o.variant), o)
    return list(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("subject", [reference.SUBJECT, MIRROR], ids=["spec", "torch"])
def test_the_specification_and_the_mirror_resume_every_algorithm(subject: Subject) -> None:
    """The engine of the mirror goes on from the file of a saved run."""
    wrong = []
    for offer in firsts(subject.info.offers):
        taken = replace(offer, resumes=True, dtypes=("float32",))
        found = judge_offer(InProcess(subject), taken, law="resumes", cases=15)
        if conclude(found)[0] is not Conformity.CONFORMS:
            wrong.append((offer.algorithm, offer.level, offer.variant, found))
    assert not wrong, wrong


@pytest.mark.slow
def test_moments_that_a_fresh_optimizer_has_no_place_for_are_named() -> None:
    assert "after restore, m, v and t are at their initial values" in said("torch_adamw")


@pytest.mark.parametrize("spoilt", [False, True])
def test_the_law_sees_no_loss_if_it_restores_nothing(spoilt: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison is that of the resumed run: without an interruption, a session that forgets all passes."""
    if spoilt:
        play = resume._play
        monkeypatch.setattr(resume, "_play", lambda bench, s, places, fresh=None: play(bench, s, ()))
    offer = replace(firsts(reference.SUBJECT.info.offers)[0], resumes=True, dtypes=("float64",))
    found = judge_offer(InProcess(restored(offer)), offer, law="resumes", cases=15)
    assert (conclude(found)[0] is Conformity.CONFORMS) is spoilt


def claim(algorithm: str, level: Level, **more: Any) -> Claim:
    return Claim(algorithm, level, CATALOGUE[algorithm].readings[0].name, resumes=True, dtypes=("float64",), **more)


COUNTED = [
    (claim("momentum", "client", schedules={"eta_l": "step/step period=10 factor=0.5"}), "clock"),
    (claim("momentum", "client", schedules={"eta_l": "step/round period=2 factor=0.5"}), "clock"),
    (claim("fedavgm", "server", schedules={"eta": "step/round period=10 factor=0.5"}), "clock"),
    (claim("fedavg", "round", schedules={"eta_l": "step/round period=4 factor=0.5"}), "clock"),
    (claim("fedbuff", "trace", fixed={"buffer": 8}), "pending"),
    (claim("fedbuff", "trace"), "pending"),
    (claim("agdu", "client", fixed={"z": 5}), "t"),
]


@pytest.mark.table(2)
@pytest.mark.parametrize(("offer", "lost"), COUNTED, ids=range(len(COUNTED)))
def test_a_run_lasts_until_its_counts_matter(offer: Claim, lost: str) -> None:
    lose: Then = lambda session, first: put(session, {lost: first[lost]})  # noqa: E731
    for then, verdict in ((lose, Conformity.DOES_NOT), (lambda session, first: None, Conformity.CONFORMS)):
        found = judge_offer(InProcess(restored(offer, then)), offer, law="resumes", profile="quick")
        assert conclude(found)[0] is verdict


def test_two_updates_wait_at_a_save_in_the_quickest_check() -> None:
    """A restore that gets the count of what waits wrong is right as long as one waits at most."""

    def newest(session: Any, first: Mapping[str, Any]) -> None:
        waiting = session.state.pending
        session.state = replace(session.state, pending=waiting[-1:] * len(waiting))

    found = judge_offer(
        InProcess(restored(claim("fedbuff", "trace"), newest)),
        claim("fedbuff", "trace"),
        law="resumes",
        profile="quick",
    )
    assert conclude(found)[0] is Conformity.DOES_NOT


def test_a_formula_of_what_an_event_does_not_show_fits_nothing() -> None:
    offer = claim("fedbuff", "trace")
    setting = setting_of(offer)
    (s,) = draw_cases(resume._cases(setting), 1, 0)
    bench = bench_of(InProcess(reference.SUBJECT), offer, setting)
    spoil = partial(lost_state._as_written, "server", "delta")
    assert not lost_state._fits(bench, s, spoil, (0,), bench.play(s))


def _newest_version(session: Any) -> None:
    versions = session.state.versions
    session.state = replace(session.state, versions=(versions[-1],) * len(versions))


def _slow_model(session: Any) -> None:
    session.slow = session.state.x


def _first_worker(session: Any) -> None:
    names = ("m_i", "v_i", "t")
    rows = {n: getattr(session.state, n) for n in names}
    same = {n: np.stack([r[0]] * len(r)) if isinstance(r, np.ndarray) else (r[0],) * len(r) for n, r in rows.items()}
    session.state = replace(session.state, **same)


HALVED: dict[str, Any] = {"schedules": {"eta": "step/round period=2 factor=0.5"}}


def _base(of: Callable[[int], int]) -> Callable[[Any], None]:
    """The base of the schedule's rates becomes the rate of a round, and is saved."""

    def spoil(session: Any) -> None:
        h = session.case.hyper
        session.case = replace(session.case, hyper={**h, "eta": h["eta"] * 0.5 ** (of(session.clock.rounds) // 2)})

    return spoil


RATE = "the schedule multiplies the rate that it gave for the {} round or step, and not the claim's"

SPOILT = [
    (claim("fedbuff", "trace"), _newest_version, "the older versions are gone, and the newest stands in their place"),
    (claim("fadas", "trace"), _newest_version, "the older versions are gone, and the newest stands in their place"),
    (claim("adam", "client", steps=("lookahead 2 0.5",)), _slow_model, "after restore, slow is x"),
    (claim("diloco", "round"), _first_worker, "m_i, v_i, t of every client are those of client 0"),
    (claim("fedavgm", "server", **HALVED), _base(lambda t: t), RATE.format("next")),
    (claim("fedavgm", "server", **HALVED), _base(lambda t: t - 1), RATE.format("last")),
]


@pytest.mark.table(2)
@pytest.mark.parametrize(("offer", "spoil", "words"), SPOILT, ids=range(len(SPOILT)))
def test_parts_that_are_saved_otherwise_have_names(offer: Claim, spoil: Callable[[Any], None], words: str) -> None:
    found = judge_offer(
        InProcess(restored(offer, lambda session, first: spoil(session))), offer, law="resumes", profile="quick"
    )
    verdict = conclude(found)[0]
    assert verdict is Conformity.DOES_NOT and words in str(found), found


@pytest.mark.parametrize(("fault", "words"), [("resumes", ""), ("forgets", "u is at its initial value")])
def test_a_program_that_knows_json_alone_is_interrupted(fault: str, words: str) -> None:
    (row,) = check(standalone(fault), "--only", "momentum", *LAW, explained=False).rows
    assert words in row["first_deviation"] and bool(row["first_deviation"]) is bool(words), row["first_deviation"]
