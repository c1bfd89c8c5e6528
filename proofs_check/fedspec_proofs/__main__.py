"""``python -m fedspec_proofs [WORD ...]``: run the proofs whose id contains one of the words (all, without words).

Prints a table; with ``-v`` each statement, its source and its evidence as well. Exit code 1 if a proof did not come
back proved or checked, or a counter-check not refuted; 2 if no id matches.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Sequence
from importlib.util import find_spec

from fedspec_proofs import COUNTER_CHECKS, PROOFS, Record, Verdict

WIDTH = 120


def details(record: Record) -> str:
    """The statement, its source, the engine and the evidence, indented."""
    lines = [record.statement, f"Source: {record.source}", f"Engine: {record.engine}", *record.evidence.splitlines()]
    return "\n".join(
        textwrap.fill(line, WIDTH, initial_indent="    ", subsequent_indent="      ") for line in lines if line
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run and print."""
    missing = [name for name in ("sympy", "z3") if find_spec(name) is None]
    if missing:
        print(f"fedspec: the proofs need {' and '.join(missing)}; pip install 'fedspec[proofs]'", file=sys.stderr)
        return 2
    given = list(sys.argv[1:] if arguments is None else arguments)
    verbose, words = "-v" in given, [a for a in given if a != "-v"]
    parts = (
        ("proofs", PROOFS, {Verdict.PROVED, Verdict.CHECKED}),
        ("counter-checks", COUNTER_CHECKS, {Verdict.REFUTED}),
    )
    width = max(map(len, (*PROOFS, *COUNTER_CHECKS)))
    ran = wrong = 0
    for title, table, expected in parts:
        chosen = {id: run for id, run in table.items() if not words or any(w in id for w in words)}
        if not chosen:
            continue
        print(f"{title:{width}}  verdict   seconds  engine")
        for run in chosen.values():
            record = run()
            ran += 1
            unexpected = record.verdict not in expected
            wrong += unexpected
            mark = "  UNEXPECTED" if unexpected else ""
            print(f"{record.id:{width}}  {record.verdict:8}  {record.seconds:7.2f}  {record.engine}{mark}")
            if verbose or unexpected:
                print(details(record))
        print()
    print(f"{ran} run, {wrong} unexpected")
    return 2 if not ran else int(wrong > 0)


if __name__ == "__main__":
    raise SystemExit(main())
