"""Check the bundled packages, and store the results: ``python scripts/conformance.py [NAME ...]``.

Without names all of them, with names these again, their old lines replaced. Writes docs/conformance/results.jsonl, one
line for each offer; capsules/, what each failed, to be played again; changes.json, what came out otherwise than when a
package was last judged; and docs/conformance/README.md, which is made of the results and of remarks.toml. ``--page``
makes the page alone, ``--check`` only says whether it is current. A package that cannot be installed or started is a
line that says so.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import groupby
from math import isfinite
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote, urlsplit

from fedspec.errors import FedspecError
from fedspec_suite.judge.check import check
from fedspec_suite.judge.request import Request
from fedspec_suite.measure.verdict import Conformity, Obligation, Result
from fedspec_suite.report import sentences
from fedspec_suite.subjects import environments

HERE = Path(__file__).resolve().parents[1] / "docs" / "conformance"
RESULTS, REMARKS, PAGE = HERE / "results.jsonl", HERE / "remarks.toml", HERE / "README.md"
CHANGES, CAPSULES = HERE / "changes.json", HERE / "capsules"
PROFILE, SEED, WIDTH = "quick", 0, 100
LIMIT = 300.0  # seconds that an answer may take: what a package computes must not depend on how busy the machine is

MARKS = re.compile(r" (?=[-+*#] |>|\d+[.)] )")
LOOKED = re.compile(r"; looked at [\d,]+ of [\d,]+ candidates")
HELD = "\x1f"  # a blank at which textwrap does not break a line

FIELDS: dict[str, type | tuple[type, ...]] = {
    "impl": str,
    "requirement": str,
    "wheel": (str, type(None)),
    "sha256": (str, type(None)),
    "date": str,
    "judge": str,
    "profile": str,
    "seed": int,
    "subject": str,
    "version": str,
    "algorithm": str,
    "level": str,
    "claimed": str,
    "verdict": str,
    "passed": int,
    "required": int,
    "sentence": str,
    "nearest_data": list,
    "broken": list,
    "reach": str,
    "command": str,
    "capsule": str,
    "obligations": list,
}
"""Fields of a line with their types; ``wheel`` and ``sha256`` are null if pip finds none, ``capsule`` is empty if
nothing failed.

``reach`` is the range of the cases; it is empty in older lines. ``nearest_data`` lists the variants that the sentence
names, with the equations that differ and what to claim instead.

An obligation has its id and status; if it was not decided or not asked, the reason; if it failed, the call, and the
number that came beside the right one.
"""

SAID = tomllib.loads(REMARKS.read_text(encoding="utf-8"))
KINDS: dict[str, str] = SAID["kinds"]
"""Kinds of remarks on a claim that doesn't conform."""

Row = dict[str, Any]


def wheel(name: str) -> tuple[str | None, str | None]:
    """Return the file that pip would install for the package under test, and its sha256; None if pip finds none."""
    subject = environments.find(name)
    pip = [sys.executable, "-I", "-m", "pip", "--no-input", "--disable-pip-version-check", "install", "--quiet"]
    flags = ["--dry-run", "--ignore-installed", "--no-deps", "--report", "-"]
    ran = subprocess.run([*pip, *flags, requirement(subject.requirements)], capture_output=True, text=True, check=False)
    if ran.returncode:
        return None, None
    info = json.loads(ran.stdout)["install"][0]["download_info"]
    return unquote(PurePosixPath(urlsplit(info["url"]).path).name), info["archive_info"]["hashes"]["sha256"]


def requirement(pins: Path) -> str:
    """Return the pin of the package under test, which is the first in the file."""
    return next(line for line in pins.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))


def judged(name: str, jobs: int, progress: Callable[[str], None]) -> Iterator[Row]:
    """Check one bundled package, and yield a row for each claim; a single error row if the package can't be checked."""
    file, digest = wheel(name)
    common = {
        "requirement": requirement(environments.find(name).requirements),
        "wheel": file,
        "sha256": digest,
        "date": datetime.now(UTC).date().isoformat(),
        "judge": f"fedspec {version('fedspec')}",
        "profile": PROFILE,
        "seed": SEED,
    }
    request = Request((name,), profile=PROFILE, seed=SEED, jobs=jobs, limit=LIMIT, start_limit=LIMIT, capsules=True)
    try:
        results = list(check(request, progress))
    except FedspecError as error:
        results = []
        told = {"version": "", "algorithm": "", "level": "", "claimed": "", "passed": 0, "required": 1, "broken": []}
        told |= {"obligations": [], "capsule": "", "reach": "", "nearest_data": []}
        # What follows names files of this machine.
        said = sentences.one_line(str(error)).partition(";")[0]
        verdict = {"verdict": str(Conformity.ERROR), "sentence": said, "command": f"fedspec check {name}"}
        yield ordered({"impl": name, **common, "subject": name, **told, **verdict})
    for r in results:
        yield ordered({"impl": r.command.split()[2], **common, **row(r), "capsule": write_capsule(r)})


def write_capsule(r: Result) -> str:
    """Write the failing cases of a claim to a capsule, and return its file name; "" if nothing failed."""
    if r.made is None:
        return ""
    CAPSULES.mkdir(exist_ok=True)
    name = f"{r.made.stem}.json"
    (CAPSULES / name).write_text(json.dumps(r.made.body, separators=(",", ":")) + "\n", encoding="utf-8")
    return name


def ordered(row: Row) -> Row:
    """Return the row with its fields in the order of FIELDS."""
    return {field: row[field] for field in FIELDS}


def row(r: Result) -> Row:
    """Convert one result to the row that is stored."""
    body = r.record(obligations=False)
    kept = {n: body[n] for n in ("subject", "version", "algorithm", "level", "passed", "required", "command")}
    kept["command"] = kept["command"].replace(f" --limit {LIMIT:g} --start-limit {LIMIT:g}", "")
    verdict = r.said if r.verdict is Conformity.IN_PART else str(r.verdict)
    nearest = [{name: one[name] for name in ("words", "differences", "claim")} for one in r.nearest_data]
    said = {"claimed": r.declared, "verdict": verdict, "sentence": sentences.head(r), "nearest_data": nearest}
    broken = sentences.broken(r) if sentences.unknown(r) else []
    told = {"broken": broken, "reach": sentences.beyond([r])}
    return {**kept, **said, **told, "obligations": [obligation(o) for o in r.obligations]}


def obligation(o: Obligation) -> Row:
    """Convert one check to the record that is stored."""
    reason = {"reason": o.reason} if o.reason else {}
    if o.deviation is None:
        return {"id": o.id, "status": o.status, **reason}
    found = {n: v for n, v in asdict(o.deviation).items() if v not in (None, "")}
    # JSON has no word for inf and nan.
    found = {n: str(v) if isinstance(v, float) and not isfinite(v) else v for n, v in found.items()}
    return {"id": o.id, "status": o.status, **reason, "call": o.call, "deviation": found}


def changed(old: Sequence[Row], new: Sequence[Row], last: Row | None = None) -> Row:
    """Return a package's changes since it was last checked, or the ``last`` changes if there are none."""
    before, now = ({offer(row): row for row in rows} for rows in (old, new))
    others = [name for name in now if name in before and outcome(before[name]) != outcome(now[name])]
    was, are = ({row["requirement"] for row in rows} for rows in (old, new))
    if last and before.keys() == now.keys() and not others and was == are:
        return last
    return {
        "since": max((row["date"] for row in old), default=None),
        "was": sorted(was),
        "new": [name for name in now if name not in before],
        "gone": [name for name in before if name not in now],
        "otherwise": [{"offer": n, "was": outcome(before[n]), "is": outcome(now[n])} for n in others],
    }


def outcome(row: Row) -> str:
    """Return the verdict and its reason, without the number of candidates that the search tried."""
    said = LOOKED.sub("", row["sentence"])
    return f"{row['verdict']}: {said}" if said != row["verdict"] else str(row["verdict"])


def stored() -> list[Row]:
    """Read the rows of the results file."""
    lines = RESULTS.read_text(encoding="utf-8").splitlines() if RESULTS.exists() else []
    return [json.loads(line) for line in lines]


def package(row: Row) -> str:
    """Return the bundled package's name, without its variant."""
    return str(row["impl"]).partition(":")[0]


def in_part(row: Row) -> bool:
    """True if the checked part conforms, and a part of the claim was not checked: the verdict names it."""
    return row["verdict"] != "conforms" and str(row["verdict"]).startswith("conforms")


def offer(row: Row) -> str:
    """Return the key that identifies a row's claim."""
    return f"{row['subject']}/{row['algorithm']}/{row['level']}/{row['claimed']}"


def remarks() -> dict[tuple[str, str], Row]:
    """Return the remarks on claims that don't conform, by claim and version."""
    return {(name, r["version"]): r for r in SAID["remark"] for name in r["offers"]}


def filled(text: str, first: str = "", rest: str = "") -> str:
    """Wrap a paragraph to the page's width, so that no line begins like a list or a quotation."""
    kept = MARKS.sub(HELD, text)
    lines = textwrap.fill(
        kept, WIDTH, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )
    return lines.replace(HELD, " ")


def page(rows: Sequence[Row]) -> str:
    """Format the page from the results and the remarks."""
    said = remarks()
    conforming = sum(row["verdict"] == "conforms" for row in rows)
    part = sum(map(in_part, rows))
    more = f"; {part} more {'conforms' if part == 1 else 'conform'} in part" if part else ""
    numbers = {"count": len(rows), "conforming": conforming, "packages": len({*map(package, rows)})}
    names = dict.fromkeys(map(package, rows))
    contents = filled(f"Packages: {', '.join(f'[{name}](#{name})' for name in names)}.")
    parts = [INTRODUCTION.format(**numbers, more=more), f"{contents}\n"]
    parts += [section(name, list(of), said) for name, of in groupby(rows, package)]
    return "\n".join(parts)


def section(name: str, rows: Sequence[Row], said: dict[tuple[str, str], Row]) -> str:
    """Format a package's section: its version, a table of claims, and the reasons of those that don't conform."""
    first = rows[0]
    digest = f"`{first['wheel']}`, sha256\n`{first['sha256']}`." if first["sha256"] else "No wheel was found."
    judge = f"Judged on {first['date']} by {first['judge']}, profile {first['profile']}, seed {first['seed']}."
    again = f"Run it again: `fedspec check {name} --profile {first['profile']}`."
    parts = [f"## {name}", f"`{first['requirement']}`: {digest}\n{judge}\n{again}", f"```\n{lines(rows)}\n```"]
    bad = [row for row in rows if row["verdict"] != "conforms"]
    parts += [why(row, said.get((offer(row), row["version"]))) for row in bad]
    return "\n\n".join(parts) + "\n"


def lines(rows: Sequence[Row]) -> str:
    """Format a table of at most 100 columns; a long reading is wrapped."""
    out: list[str] = []
    head = ("algorithm", "level", "reading claimed", "verdict", "passed")
    told = [
        (row["algorithm"], row["level"], called(row), row["verdict"], f"{row['passed']}/{row['required']}")
        for row in rows
    ]
    widths = [max(len(cells[k]) for cells in (head, *told)) for k in range(5)]
    widths[2] = min(widths[2], WIDTH - 8 - sum(widths) + widths[2])
    for cells in (head, *told):
        reading = textwrap.wrap(cells[2], widths[2], break_on_hyphens=False) or [""]
        for k, part in enumerate(reading):
            shown = (*cells[:2], part, *cells[3:]) if k == 0 else ("", "", part, "", "")
            out.append("  ".join(cell.ljust(width) for cell, width in zip(shown, widths, strict=True)).rstrip())
    return "\n".join(out)


def called(row: Row) -> str:
    """Return the claimed reading, with the interface if the package has several."""
    return f"{row['claimed']}{variant(row)}"


def variant(row: Row) -> str:
    """Return the claim's interface in brackets; "" if the package has one interface."""
    _, bracket, name = str(row["subject"]).partition(" (")
    return f" ({name}" if bracket else ""


def why(row: Row, remark: Row | None) -> str:
    """Format the diagnosis of a row, the remark, and the commands that repeat it."""
    name = f"{row['algorithm']}/{row['level']} {called(row)}" if row["algorithm"] else row["impl"]
    text = [filled(f"**{name}**: {row['sentence']}." + broken(row), "* ", "  ")]
    if remark:
        text.append(filled(f"*{KINDS[remark['kind']]}.* {remark['says']} ({remark['where']})", "  ", "  "))
    again = f"\n  {replay(row)}" if row["capsule"] else ""
    text.append(f"\n  ```\n  {row['command']}{again}\n  ```")
    return "\n".join(text)


def replay(row: Row) -> str:
    """Return the command that replays the row's capsule."""
    return f"fedspec replay docs/conformance/capsules/{row['capsule']} {row['impl']}"


def broken(row: Row) -> str:
    """Format the broken laws, if no known variant matches."""
    return f" Fails: {'; '.join(row['broken'])}." if row["broken"] else ""


INTRODUCTION = """# What the packages compute

<!-- made by `make conformance` from results.jsonl and remarks.toml; do not edit -->

{conforming} of {count} claims of {packages} packages conform{more}. A *claim* is an algorithm of a package, driven
without its network, under the published definition that its documentation names. The claims are
ours; each adapter (`judge/fedspec_suite/subjects/NAME/adapter.py`) says why, and what it had to do.

For the meaning of a verdict, see [reading-a-verdict.md](../reading-a-verdict.md). A deviation isn't
necessarily a bug. The first sentence of each is what fedspec printed; if it knows no name, the
broken laws follow. The sentences below it say what we read in the source of that version:

* *A variant of the published rule*: the documentation names a paper or an algorithm, and gives no
  formula that the code contradicts. Many variants are deliberate.
* *Contradicts its own documentation*: a docstring, page or comment of the package says something
  that the code does not do.

The file is the one that pip takes for the pinned version where this was run, with the digest that
pip reports; a build of PyTorch is local (`+cpu`). `make conformance` runs everything again, and
`python scripts/conformance.py NAME` one package; `results.jsonl` has the same as data.

[capsules/](capsules) has what each claim failed: the cases, what was asked, what it answered.
`fedspec replay docs/conformance/capsules/FILE torchft` asks that package again, or another version:
the commands below name each file.
"""


def main(arguments: Sequence[str]) -> int:
    """Check packages and write the results, or only write or check the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = sorted({subject.package for subject in environments.bundled().values() if subject.published})
    parser.add_argument("name", nargs="*", choices=[[], *names], metavar="NAME", help=", ".join(names))
    parser.add_argument("--jobs", type=int, default=1, help="processes that share the work of one package")
    parser.add_argument("--page", action="store_true", help="make the page from the results that there are")
    parser.add_argument("--check", action="store_true", help="say whether the page is current")
    given = parser.parse_args(arguments)
    if given.check:
        current = PAGE.read_text(encoding="utf-8") == page(stored())
        print(f"{PAGE.name}: {'current' if current else 'stale; python scripts/conformance.py --page'}")
        return int(not current)
    for name in () if given.page else given.name or names:
        print(f"judging {name}", flush=True)
        new = list(judged(name, given.jobs, lambda text: None))
        changes = json.loads(CHANGES.read_text(encoding="utf-8")) if CHANGES.exists() else {}
        changes[name] = changed([r for r in stored() if package(r) == name], new, changes.get(name))
        CHANGES.write_text(json.dumps(dict(sorted(changes.items())), indent=1) + "\n", encoding="utf-8")
        lines_now = sorted([*(r for r in stored() if package(r) != name), *new], key=package)
        RESULTS.write_text("".join(json.dumps(r) + "\n" for r in lines_now), encoding="utf-8")
        for file in {*CAPSULES.glob("*.json")} - {CAPSULES / r["capsule"] for r in lines_now}:
            file.unlink()
    PAGE.write_text(page(stored()), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
