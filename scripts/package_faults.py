"""Ask the bundled packages' servers what they do with faulty messages: ``python scripts/package_faults.py [NAME ...]``.

Writes docs/conformance/faults.json, from which ``python docs/tables.py`` makes the table of docs/faults.md. If packages
are named, the stored answers of the others stay.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedspec_suite.subjects import environments

FILE = Path(__file__).resolve().parents[1] / "docs" / "conformance" / "faults.json"

LIMIT = "300"
"""Seconds that an answer may take, so that a busy machine changes nothing."""


def asked(name: str) -> list[dict[str, Any]]:
    """Return what each server of a package does with each kind of fault; servers of several claims come once."""
    command = [str(Path(sys.executable).with_name("fedspec")), "faults", name, "--json", "--limit", LIMIT]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    if not ran.stdout:
        raise SystemExit(ran.stderr)
    found: dict[str, dict[str, Any]] = {}
    for row in json.loads(ran.stdout):
        if row["error"]:
            print(f"{row['id']}: {row['error']}", file=sys.stderr)
            continue
        does = {kind: answer["does"] or [answer["said"]] for kind, answer in row["faults"].items()}
        found.setdefault(row["id"], {"server": row["id"], "version": row["version"], "does": does})
    return list(found.values())


def main(names: Sequence[str]) -> int:
    """Ask the packages and write the file."""
    published = sorted({s.package for s in environments.bundled().values() if s.published})
    if unknown := {*names} - {*published}:
        print(f"{', '.join(sorted(unknown))}: none of {', '.join(published)}", file=sys.stderr)
        return 2
    stored = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for name in names or published:
        print(f"asking {name}", flush=True)
        if servers := asked(name):
            stored[name] = {"date": datetime.now(UTC).date().isoformat(), "servers": servers}
        FILE.write_text(json.dumps(dict(sorted(stored.items())), indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
