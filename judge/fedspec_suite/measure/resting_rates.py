"""Check that an algorithm runs at a rate of 0, which the factor of a claimed schedule may make."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.errors import ContractError, FedspecError
from fedspec.reference import SUBJECT
from fedspec.schedules import Clock, Every, schedule_of, timed
from fedspec_suite.measure.edge_cases import plain_case
from fedspec_suite.measure.setting import Setting


def check_rests(setting: Setting) -> None:
    """Raise if a claimed schedule makes a rate 0 by which the algorithm divides.

    Raises:
        ContractError: the specification can't run a round with that rate.
    """
    s = plain_case(setting, {"w": (1, 1) if setting.matrices else (1,)})
    for name, said in setting.schedules.items():
        if not schedule_of(said).rests:
            continue
        rates = {name: (Every.ROUND, lambda t: 0.0)}
        session = SUBJECT.start(replace(s.case, schedules={}))
        events = [timed(e, Clock(), s.case.hyper, rates)[0] for e in s.events]
        with np.errstate(all="ignore"):
            try:
                # What is divided by 0 may be read in the next round alone.
                answers: list[Mapping[str, Any]] = [session.step(e) for e in (*events, *events)]
                finite = all(np.isfinite(v).all() for answer in answers for v in answer.values())
            except (ZeroDivisionError, FedspecError):
                finite = False
        if not finite:
            raise ContractError(
                f"schedules: the claim of {setting.algorithm.id} says {said!r}, which makes {name} = 0, and its rule "
                f"then divides by 0; claim a floor or a first factor above 0"
            )
