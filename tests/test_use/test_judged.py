"""What the judge says of ``fedspec_use`` in an environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

FEDSPEC = (sys.executable, "-c", "from fedspec_suite.cli_start import main; main()")
ONLY = (
    *("adam/client", "lamb/client/you-2020", "sm3-ii/client/fedada2"),
    *("fedadam/server/reddi-2021", "fedyogi/server/reddi-2021"),
)


@pytest.mark.outside
def test_torch_optimisers_conform() -> None:
    asked = [argument for only in ONLY for argument in ("--only", only)]
    command = [*FEDSPEC, "check", "fedspec_use_torch", "--profile", "quick", "--json"]
    ended = subprocess.run([*command, *asked], capture_output=True, text=True, check=False)
    told = json.loads(ended.stdout)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert {line["algorithm"] for line in told} == {only.partition("/")[0] for only in ONLY}
    assert [line["algorithm"] for line in told].count("lamb") == 2, "of both variants"
    assert {line["verdict"] for line in told} == {"conforms"}
