"""What the judge says of ``fedspec_use`` in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

FEDSPEC = (sys.executable, "-c", "from fedspec_suite.cli_start import main; main()")
TORCH = (
    *("adam/client", "lamb/client/you-2020", "sm3-ii/client/fedada2"),
    *("fedadam/server/reddi-2021", "fedyogi/server/reddi-2021"),
)
FLOWER = ("fedadam/server/reddi-2021", "fednova/server/fednova", "fedexp/server/weighted", "median/server/yin-2018")


def judged(subject: str, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """The lines of a quick check of some offers, all of which must conform."""
    command = [*FEDSPEC, "check", subject, "--profile", "quick", "--json"]
    asked = [argument for row in only for argument in ("--only", row)]
    ended = subprocess.run([*command, *asked], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    told: list[dict[str, Any]] = json.loads(ended.stdout)
    assert {line["algorithm"] for line in told} == {row.partition("/")[0] for row in only}
    assert {line["verdict"] for line in told} == {"conforms"}
    return told


@pytest.mark.outside
def test_torch_optimisers_conform() -> None:
    told = judged("fedspec_use_torch", TORCH)
    assert [line["algorithm"] for line in told].count("lamb") == 2, "of both variants"


@pytest.mark.outside
def test_flower_strategies_conform() -> None:
    judged("fedspec_use_flower", FLOWER)
