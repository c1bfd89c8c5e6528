"""Coq's compiler over its own texts and the data, and what its theorems rest on."""

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
"""The axioms of the reals in Coq's standard library: nothing else may be assumed."""

AXIOM = re.compile(r"^([\w.']+)\s*(?::|$)", re.MULTILINE)


class RefusedError(FedspecError):
    """Coq does not take a file."""


@dataclass(frozen=True)
class Checked:
    """Theorems that Coq accepted.

    Attributes:
        theorems: number of theorems, without the lemmas of the texts by hand.
        axioms: axioms that all theorems together rely on.
    """

    theorems: int
    axioms: frozenset[str]


def compiler() -> str | None:
    """Path of coqc, if it is there: ``$COQC``, or on the PATH."""
    return os.environ.get("COQC") or shutil.which("coqc")


def compiled(name: str, folder: Path) -> str:
    """Have Coq check a file, and return what it prints.

    Raises:
        RefusedError: it does not accept it.
    """
    done = subprocess.run(
        [compiler() or "coqc", "-q", "-no-glob", "-Q", ".", "", f"{name}.v"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RefusedError(f"kernel: {name}.v is refused: {' '.join((done.stderr or done.stdout).split())[:2000]}")
    return done.stdout


def spent() -> float:
    """Seconds of processor that Coq has taken so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def say_time(words: str, say: Callable[[str], None]) -> Iterator[None]:
    """Say what was checked and what it took, once it is."""
    before = spent()
    yield
    say(f"{words}: {spent() - before:.0f} s of processor")


def prepared(coq: Path, folder: Path, sources: Iterable[str] = SOURCES) -> None:
    """Check the texts that are written by hand, in a folder of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in sources:
        shutil.copyfile(coq / f"{name}.v", folder / f"{name}.v")
    for name in sources:
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
    """The axioms that theorems rest on, as Coq prints them."""
    imports = "\n".join(["Require Import Vectors.", *(f"Require {m}." for m in modules)])
    all_ = ";\n".join(f"  Proved _ {name}" for name in theorems)
    (folder / "Everything.v").write_text(EVERYTHING.format(imports=imports, all=all_), encoding="utf-8")
    printed = compiled("Everything", folder)
    if "Closed under the global context" in printed:
        return frozenset()
    return frozenset(_whole_name(name) for name in AXIOM.findall(printed.partition("Axioms:")[2]))


def _whole_name(name: str) -> str:
    """With its module, which Coq leaves out where that is imported."""
    return next((known for known in ALLOWED if known == name or known.endswith(f".{name}")), name)


def checked(
    coq: Path,
    folder: Path,
    data: Mapping[str, tuple[str, list[str]]],
    own: Iterable[str] = (),
    say: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Have Coq check everything.

    Args:
        coq: the folder of the texts by hand.
        folder: folder in which all is compiled.
        data: by the name of a file, its text and the names of its theorems.
        own: theorems of the texts by hand that are results too, with their modules.
        say: function that prints the report on each part.

    Raises:
        RefusedError: a file is not accepted, or more is assumed than the reals.
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
        raise RefusedError(f"kernel: more is assumed than the reals of Coq's library: {sorted(axioms - ALLOWED)}")
    return Checked(len(theorems), axioms)
