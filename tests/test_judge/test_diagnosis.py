"""A diagnosis calls simple flaws by their names, whatever the server, and says what it sees where it has none."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).with_name("subjects")))

from flawed import ALL, SAID, Flawed

from fedspec_suite.diagnosis.identify import diagnose
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import Setting, setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

SHORT = ("uphill", "by steps", "first round lost", "late", "weight decay", "float32")


@cache
def setting(algorithm: str) -> Setting:
    return setting_of(Flawed(algorithm, "").info.offers[0])


def diagnosed(algorithm: str, flaw: str, **more: Any) -> str:
    subject, of = Flawed(algorithm, flaw), setting(algorithm)
    return diagnose(bench_of(Inside(subject), subject.info.offers[0], of), of, **more)


@pytest.mark.parametrize("algorithm", ALL)
def test_the_plain_ones_are_right(algorithm: str) -> None:
    assert diagnosed(algorithm, "", model_failed=False) == "x follows the claimed reading"


def misnamed(algorithm: str, flaws: Iterable[str]) -> dict[str, str]:
    said = {flaw: diagnosed(algorithm, flaw) for flaw in flaws if algorithm in SAID[flaw][0]}
    return {flaw: words for flaw, words in said.items() if not re.search(SAID[flaw][1], words)}


def test_some_flaws_are_called_by_their_names() -> None:
    assert misnamed("fedadam", SHORT) == {}


@pytest.mark.night
@pytest.mark.parametrize("algorithm", ALL)
def test_flaws_are_called_by_their_names(algorithm: str) -> None:
    assert misnamed(algorithm, SAID) == {}
