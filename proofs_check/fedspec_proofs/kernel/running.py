"""Running Coq's compiler on its sources and the generated data, and the axioms of its theorems."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from fedspec.errors import FedspecError

SOURCES = (
    *("Vectors", "Classes", "Interpolants", "Certificates", "Intervals", "Rounds", "Statements", "Soundness", "Rules"),
    *("Reached", "Refuted"),
)
"""Files of hand-written proofs; each needs some of the files before it."""

ALLOWED = {
    "ClassicalDedekindReals.sig_forall_dec",
    "ClassicalDedekindReals.sig_not_dec",
    "FunctionalExtensionality.functional_extensionality_dep",
}
"""Axioms of the reals in Coq's standard library; theorems may use no others."""

AXIOM = re.compile(r"^([\w.']+)\s*(?::|$)", re.MULTILINE)


class RefusedError(FedspecError):
    """Coq rejects a file."""


@dataclass(frozen=True)
class Checked:
    """Number of theorems that Coq accepted, and their axioms.

    Attributes:
        theorems: number of theorems, without lemmas of the hand-written files.
        axioms: axioms on which the theorems rely.
    """

    theorems: int
    axioms: frozenset[str]


def compiler() -> str | None:
    """Path of ``coqc``: from ``$COQC`` or the PATH; None if it is missing."""
    return os.environ.get("COQC") or shutil.which("coqc")


def compiled(name: str, folder: Path) -> str:
    """Compile a file with Coq and return its output.

    Raises:
        RefusedError: Coq rejects the file.
    """
    done = subprocess.run(
        [compiler() or "coqc", "-q", "-no-glob", "-Q", ".", "", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RefusedError(f"kernel: Coq rejects {name}.v: {' '.join((done.stderr or done.stdout).split())[:2000]}")
    return done.stdout


def spent() -> float:
    """Processor time that child processes such as Coq have used so far, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def say_time(words: str, say: Callable[[str], None]) -> Iterator[None]:
    """Context that reports its description and the processor time that Coq used inside."""
    before = spent()
    yield
    say(f"{words}: {spent() - before:.0f} s of processor")


def prepared(coq: Path, folder: Path) -> None:
    """Copy the hand-written Coq sources into a folder and compile them there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in SOURCES:
        shutil.copyfile(coq / f"{name}.v", folder / f"{name}.v")
    for name in SOURCES:
        compiled(name, folder)


EVERYTHING = """(* Every theorem, so that what they rest on is printed at once. *)
{imports}
Record proved := Proved {{ says : Prop; proof : says }}.
Definition everything : list proved := [
{all}
].
Print Assumptions everything.
"""


def resting_on(theorems: Iterable[str], modules: Iterable[str], folder: Path) -> frozenset[str]:
    """Axioms that theorems depend on, as Coq prints them."""
    imports = "\n".join(["Require Import Vectors.", *(f"Require {m}." for m in modules)])
    all_ = ";\n".join(f"  Proved _ {name}" for name in theorems)
    (folder / "Everything.v").write_text(EVERYTHING.format(imports=imports, all=all_), encoding="utf-8")
    printed = compiled("Everything", folder)
    if "Closed under the global context" in printed:
        return frozenset()
    return frozenset(_whole_name(name) for name in AXIOM.findall(printed.partition("Axioms:")[2]))


def _whole_name(name: str) -> str:
    """Name with its module, which Coq omits if the module is imported."""
    return next((known for known in ALLOWED if known == name or known.endswith(f".{name}")), name)


def checked(
    coq: Path,
    folder: Path,
    data: Mapping[str, tuple[str, list[str]]],
    own: Iterable[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Compile all sources and data with Coq, and check the axioms.

    Args:
        coq: the folder of the hand-written files.
        folder: the folder in which everything is compiled.
        data: by the name of a generated file, its text and the names of its theorems.
        own: theorems of the hand-written files that count as results too, with their modules.
        say: function that prints a report on each part.

    Raises:
        RefusedError: Coq rejects a file, or a theorem relies on axioms other than those of the real numbers.
    """
    with say_time("what is proved by hand", say):
        prepared(coq, folder)
    theorems = [*own]
    for name, (text, names) in data.items():
        (folder / f"{name}.v").write_text(text, encoding="utf-8")
        with say_time(f"{name}.v, {len(names)} theorems", say):
            compiled(name, folder)
        theorems += [f"{name}.{theorem}" for theorem in names]
    with say_time("what they rest on", say):
        axioms = resting_on(theorems, dict.fromkeys(t.partition(".")[0] for t in theorems), folder)
    if axioms - ALLOWED:
        raise RefusedError(f"kernel: axioms beyond those of Coq's real numbers: {sorted(axioms - ALLOWED)}")
    return Checked(len(theorems), axioms)
