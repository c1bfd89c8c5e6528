"""Rerun the ``$`` commands of the documentation pages at one width, and write their output or compare it (``--check``).

    python scripts/pages.py [--check] [--at-once] [--jobs N] [PAGE ...]

A line ``...`` stands for lines that are left out. Seconds, numbers of candidates and numbers of all obligations may
differ. A new text leaves out the same lines as the old text, if they are found among the printed lines: check the
result.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 80
SEEN = {
    "COLUMNS": str(WIDTH),
    "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]),
}
"""Environment of the commands: the terminal width, and the path of the command."""
THERE = ("Makefile", "examples")
"""Files that exist in the folder where a page's commands run."""

FAST = ("claims show", "graph", "identify examples/asked.py:", "mutants", "show")
AT_ONCE = ("cat", "make help", "python", "sed", *(f"fedspec {c}" for c in FAST))
"""Beginnings of commands that need neither minutes nor a published package."""

FENCED = re.compile(r"^```\w*\n(?P<text>\$ .*?)^```$", re.MULTILINE | re.DOTALL)
MADE = re.compile(r"(?: >|--capsules|--report) (\S+)")
SECONDS = re.compile(r"(?<=[ (])\d+(\.\d+)?(?= ?s\b)")
CANDIDATES = re.compile(r"(?<=looked at )[\d,]+|(?<= of )[\d,]+(?= candidates)")
ALL = re.compile(r"\b(\d+)/\1$")


@dataclass(frozen=True)
class Step:
    """Command and the output that a page shows below it."""

    command: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Block:
    """Commands of a page with their shown output, and earlier commands of the page that make their input files."""

    page: str
    text: str
    steps: tuple[Step, ...]
    before: tuple[str, ...]

    @property
    def at_once(self) -> bool:
        """True if all commands need neither minutes nor a published package."""
        return all(command.startswith(AT_ONCE) for command in (*self.before, *(s.command for s in self.steps)))

    def __str__(self) -> str:
        return f"{self.page}: {self.steps[-1].command.splitlines()[0]}"


def pages() -> list[str]:
    """Return every page that may show a command."""
    found = (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md")))
    return [str(page.relative_to(ROOT)) for page in found]


def blocks(page: str) -> Iterator[Block]:
    """Yield the blocks of a page that begin with a ``$`` prompt."""
    makers: list[str] = []
    for m in FENCED.finditer((ROOT / page).read_text(encoding="utf-8")):
        found = tuple(_steps(m["text"].splitlines()))
        before: list[str] = []
        for maker in reversed(makers):
            read = " ".join([*before, *(s.command for s in found)])
            if any(made in read for made in MADE.findall(maker)):
                before.insert(0, maker)
        yield Block(page, m["text"], found, tuple(before))
        makers += [s.command for s in found if MADE.search(s.command)]


def _steps(lines: Sequence[str]) -> Iterator[Step]:
    rest = list(lines)
    while rest:
        command = rest.pop(0).removeprefix("$ ")
        while not _whole(command):
            command += "\n" + rest.pop(0)
        shown = []
        while rest and not rest[0].startswith("$ "):
            shown.append(rest.pop(0).rstrip())
        yield Step(command, tuple(shown))


def _whole(command: str) -> bool:
    """No quotation is open, and the last line does not go on."""
    try:
        shlex.split(command)
    except ValueError:
        return False
    return True


def run(command: str, folder: Path) -> list[str]:
    """Run a command in a folder, and return its output lines at the fixed width."""
    ours = ("MAKE", "MFLAGS", "PYTEST_", "FEDSPEC_PROFILE")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(ours)} | SEEN
    ran = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True, check=False
    )
    return lines(ran.stdout)


def lines(text: str) -> list[str]:
    """Split text into lines without trailing spaces or trailing empty lines."""
    return [line.rstrip() for line in text.rstrip().splitlines()]


def furnish(folder: Path, block: Block) -> None:
    """Put the files that the block's commands need into a folder."""
    for name in THERE:
        (folder / name).symlink_to(ROOT / name)
    for command in block.before:
        run(command, folder)


def differs(shown: Sequence[str], printed: Sequence[str]) -> str:
    """Describe the first shown line that isn't printed in order; "" if the output agrees, apart from marked gaps."""
    parts = _parts([_timeless(line) for line in shown])
    rest = [_timeless(line) for line in printed]
    for k, part in enumerate(parts):
        first, last = k == 0, k == len(parts) - 1
        starts = range(len(rest) - len(part) + 1)
        fits = [i for i in starts if rest[i : i + len(part)] == part and (i == 0 or not first)]
        fits = [i for i in fits if not last or i + len(part) == len(rest)]
        if not fits:
            odd = next((line for line in part if line not in rest), None)
            if odd is None:
                return (
                    f"these lines are not printed so, one below the other and nothing else: {part[:1]} to {part[-1:]}"
                )
            return f"not printed here: {odd!r}"
        del rest[: fits[0] + len(part)]
    return ""


def _timeless(line: str) -> str:
    return ALL.sub("n/n", CANDIDATES.sub("0", SECONDS.sub("0", line.rstrip())))


def _parts(shown: Sequence[str]) -> list[list[str]]:
    """Between the lines that stand for others."""
    parts: list[list[str]] = [[]]
    for line in shown:
        if line.strip() == "...":
            parts.append([])
        else:
            parts[-1].append(line)
    return parts


def renewed(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """Return the lines that a page should show: the printed lines that correspond to those shown now."""
    if not differs(shown, printed):
        return list(shown)
    parts, n = _parts(shown), len(printed)
    words = [[w for w in _timeless(line).split() if w.strip("─│-")] for line in printed]
    # best[b]: the best choice for the parts so far that ends at line b; came: with where each of them stands.
    best: list[tuple[float, list[tuple[int, int]]]] = [(0.0, [])] * (n + 1)
    for k, part in enumerate(parts):
        wanted = Counter(chain.from_iterable(_timeless(line).split() for line in part))
        found: list[tuple[float, list[tuple[int, int]]]] = [(float("-inf"), [])] * (n + 1)
        for a in range(n + 1) if k else [0]:
            left, gained = wanted.copy(), 0.0
            for b in range(a, n + 1):
                for word in words[b - 1] if b > a else ():
                    gained += 1 if left[word] > 0 else -1
                    left[word] -= 1
                if best[a][0] + gained > found[b][0]:
                    found[b] = (best[a][0] + gained, [*best[a][1], (a, b)])
        for b in range(1, n + 1):
            # The next part may begin anywhere behind this one.
            if k < len(parts) - 1 and found[b - 1][0] >= found[b][0]:
                found[b] = found[b - 1]
        best = found
    new: list[str] = []
    end = 0
    for k, (a, b) in enumerate(best[n][1]):
        new += ["..."] * (k > 0 and a > end)
        new += printed[a:b]
        end = b
    return new


def text(block: Block, new: Sequence[Sequence[str]]) -> str:
    """Return the block with new output below its commands."""
    said = (["$ " + s.command, *shown] for s, shown in zip(block.steps, new, strict=True))
    return "".join(f"{line}\n" for line in chain.from_iterable(said))


def outputs(block: Block, run: Callable[[str, Path], list[str]] = run) -> list[list[str]]:
    """Return the output of each command of a block."""
    with tempfile.TemporaryDirectory() as name:
        furnish(Path(name), block)
        return [run(step.command, Path(name)) for step in block.steps]


def main() -> int:
    """Run the blocks of the pages, and write them or report stale ones."""
    told = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    told.add_argument("--check", action="store_true", help="write nothing; exit with 1 if a page is not current")
    told.add_argument("--at-once", action="store_true", help="leave out what needs minutes or published packages")
    told.add_argument("--jobs", type=int, default=2, help="how many blocks run at a time")
    told.add_argument("pages", nargs="*", metavar="PAGE", help="README.md, docs/subjects.md, ...; all unless said")
    chosen = told.parse_args()
    found = [block for page in chosen.pages or pages() for block in blocks(page)]
    found = [block for block in found if block.at_once or not chosen.at_once]
    stale = 0
    with ThreadPoolExecutor(chosen.jobs) as pool:
        for block, printed in zip(found, pool.map(outputs, found), strict=True):
            odd = [d for s, p in zip(block.steps, printed, strict=True) if (d := differs(s.shown, p))]
            if not odd:
                continue
            stale += 1
            print(f"{block}\n    {'; '.join(odd)}", flush=True)
            if any(str(ROOT) in line or "Traceback" in line for p in printed for line in p):
                print("    left as it is: it prints a traceback or a place of this machine; mend the command")
            elif not chosen.check:
                page = ROOT / block.page
                new = text(block, [renewed(s.shown, p) for s, p in zip(block.steps, printed, strict=True)])
                page.write_text(page.read_text(encoding="utf-8").replace(block.text, new), encoding="utf-8")
    print(f"{len(found)} blocks, {stale} {'not current' if chosen.check else 'written anew'}")
    return int(chosen.check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
