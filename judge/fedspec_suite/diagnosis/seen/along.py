"""What else is shown in the events in which the model first deviates, and whether that is as claimed."""

from __future__ import annotations

from fedspec_suite.diagnosis.comparing import Evidence
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.seen.digits import compared
from fedspec_suite.measure.bench import WORDS


def along(known: Known, told: Evidence) -> str:
    """Which intermediates are right in every event in which x first deviates, and which are wrong in every one."""
    right: list[set[str]] = []
    wrong: list[set[str]] = []
    for k, event, answers in told.heads:
        wanted = known.exact(known.claimed, k)
        if not wanted:
            return ""
        got, want = answers[event], wanted[event]
        names = [n for n in got if n in want and n not in {"x", *WORDS} and got[n].shape == want[n].shape]
        dtype = known.samples[k].case.dtype
        found = {n: compared(k, event, got[n], want[n], dtype) for n in names}
        right.append({n for n, each in found.items() if each.equal.all()})
        wrong.append({n for n, each in found.items() if each.apart.any()})
    kept, lost = (sorted(set.intersection(*sets)) if sets else [] for sets in (right, wrong))
    said = [f"{_listed(kept)} {_is(kept)} as claimed"] if kept else []
    said += [f"{_listed(lost)} {_is(lost)} not{'' if kept else ' as claimed'}"] if lost else []
    return f"where x first deviates, {' and '.join(said)}" if said else ""


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _is(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"
