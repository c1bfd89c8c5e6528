"""Mutate the specification, and run only the bundled vectors on it: ``python scripts/mutate.py --sample 20``.

The edits are those of cosmic-ray's operators that can give another number, in every function of the rule modules
(``mutation/edits.py``). For an edit the vectors that call the edited function are played until one fails, each edit in
a child of this process, so that thousands take minutes. Left out by rule: what stands outside functions (the rows of
the catalogue), in signatures, or refuses bad input, since a vector is valid.

What survives is an error unless mutation/survivors.toml explains it. Exit code: 0 each survivor is explained and enough
is killed, 1 not so.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import random
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from mutation.edits import Edit, edits, modules
from mutation.playing import KILLED, Fate, Ready, fate, reaching, ready

EXPLAINED = Path(__file__).with_name("mutation") / "survivors.toml"

LEAST_SHARE = 0.95
"""Smallest share of the played edits that must be killed or explained."""

UNREACHED = "no vector calls the function"


def explained() -> dict[str, list[tuple[str, str]]]:
    """Return patterns of edits with the reason why each survives, by the function's dotted name."""
    rows = tomllib.loads(EXPLAINED.read_text(encoding="utf-8"))["survivor"]
    found: dict[str, list[tuple[str, str]]] = {}
    for row in rows:
        for function in row["functions"]:
            found.setdefault(function, []).extend((pattern, row["reason"]) for pattern in row.get("edits", ["*"]))
    return found


Chosen: TypeAlias = tuple[str, list[Edit], Counter[str]]


def chosen(patterns: Sequence[str], sample: int, seed: int) -> Iterator[Chosen]:
    """Yield for each module the edits to play, and the number of edits that are left out, by reason.

    Of each module they are the same ones whatever other modules hold.
    """
    for module in modules():
        if not patterns or any(fnmatch.fnmatchcase(module, p) for p in patterns):
            found, left_out = list[Edit](), Counter[str]()
            for edit in edits(module):
                if reason := edit.left_out:
                    left_out[reason] += 1
                else:
                    found.append(edit)
            if 0 < sample < len(found):
                found = random.Random(f"{seed} {module}").sample(found, sample)
            yield module, found, left_out


def look(edit: Edit, vectors: Sequence[Ready]) -> str:
    """Return the fate of an edit as text."""
    among = reaching(edit, vectors)
    return str(fate(edit, among)) if among else UNREACHED


def why(edit: Edit, reasons: dict[str, list[tuple[str, str]]]) -> str:
    """Return the recorded reason why a survivor is acceptable; "" if there is none."""
    function = f"{edit.module}.{edit.function}"
    there = [pair for name, pairs in reasons.items() if fnmatch.fnmatchcase(function, name) for pair in pairs]
    return next((reason for pattern, reason in there if fnmatch.fnmatchcase(edit.shown, pattern)), "")


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{n} {what}" for what, n in counts.most_common()) or "nothing"


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("modules", nargs="*", help="dotted names with * and ?; all rule modules unless given")
    parser.add_argument("--sample", type=int, default=0, help="edits of each module at most; 0: all")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--log", type=Path, help="a JSON line for each edit")
    given = parser.parse_args()
    begun, vectors, reasons = time.monotonic(), ready(), explained()
    total, without, survivors = Counter[str](), Counter[str](), list[tuple[Edit, str]]()
    log = given.log.open("w", encoding="utf-8") if given.log else None
    for module, found, left_out in chosen(given.modules, given.sample, given.seed):
        counted = Counter[str]()
        without += left_out
        for edit in found:
            what = look(edit, vectors)
            if what in (Fate.SURVIVES, Fate.IDLE, UNREACHED):
                reason = why(edit, reasons)
                survivors += [] if reason else [(edit, what)]
                what += ", explained" if reason else ""
            counted[what] += 1
            if log:
                row = [module, edit.function, edit.operator, edit.occurrence, edit.line, what]
                log.write(json.dumps([*row, "" if what in KILLED else edit.shown]) + "\n")
                log.flush()
        total += counted
        print(f"{module}: {_listed(counted)}; left out: {left_out.total()}", flush=True)
    for edit, what in survivors:
        print(f"{what}: {edit.module}.{edit.function}, line {edit.line}: {edit.shown}")
    killed = sum(total[str(f)] for f in KILLED)
    told = sum(n for what, n in total.items() if what.endswith(", explained"))
    played = killed + told + len(survivors)
    print(f"\nleft out by rule: {_listed(without)}\nplayed: {_listed(total)}")
    share = f"{killed / played:.1%}" if played else "none"
    print(
        f"of {played} edits {killed} are killed ({share}), {told} explained, {len(survivors)} neither; "
        f"{len(vectors)} vectors, {f'at most {given.sample} a module' if given.sample else 'all edits'}, "
        f"seed {given.seed}, {time.monotonic() - begun:.0f} s"
    )
    return 1 if survivors or total[str(Fate.FAULT)] or (played and killed + told < LEAST_SHARE * played) else 0


if __name__ == "__main__":
    sys.exit(main())
