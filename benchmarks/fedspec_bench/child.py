"""Run a function of this package in its own pinned process: ``python -P child.py MODULE:FUNCTION ARGUMENTS``."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from fedspec_bench.worker import own_channel, pinned


def run(function: str, cores: int = 1, **arguments: Any) -> Any:
    """Run a function in its own process with ``cores`` cores, and return its result, passed as JSON.

    Raises:
        RuntimeError: it failed; with the last line of its standard error.
    """
    argv = [sys.executable, "-P", __file__, function, json.dumps({**arguments, "cores": cores})]
    ended = subprocess.run(argv, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise RuntimeError((ended.stderr.strip().splitlines() or ["no word"])[-1][:200])
    return json.loads(ended.stdout)


def main() -> None:
    """Pin this process, call the function, and print its result as JSON."""
    out = own_channel()
    arguments = json.loads(sys.argv[2])
    pinned(arguments["cores"])
    module, _, function = sys.argv[1].partition(":")
    print(json.dumps(getattr(importlib.import_module(f"fedspec_bench.{module}"), function)(**arguments)), file=out)


if __name__ == "__main__":
    main()
