"""Start subjects from their names on the command line."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from fedspec.contract import Subject
from fedspec.errors import ContractError, FedspecError, UnknownNameError, nearest
from fedspec.reference import SUBJECT as REFERENCE
from fedspec_suite import extensions, mutants
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.process import LIMIT, START_LIMIT, Process
from fedspec_suite.subjects import environments

KINDS = (
    "FILE.py, FILE.py:NAME or py:MODULE:NAME",
    "cmd:COMMAND LINE",
    "spec",
    "torch",
    "mutant:ID",
    "a name of `fedspec packages`",
)


def expand(implementation: str) -> tuple[str, ...]:
    """Return the single subjects that a command-line name stands for.

    Raises:
        UnknownNameError: it is neither a known kind nor a bundled name.
    """
    if reference := environments.python_reference(implementation):
        # Commands are printed as people type them: mine.py for py:mine.py.
        return (reference if environments.python_reference(reference) else implementation,)
    kind, _, rest = implementation.partition(":")
    if implementation in {"spec", *extensions.names(extensions.SUBJECTS)} or (kind in {"cmd", "mutant"} and rest):
        return (implementation,)
    names = environments.bundled()
    if implementation in names:
        return environments.expand(implementation)
    known = f"{'; '.join(KINDS)}: {', '.join(sorted(names))}"
    raise UnknownNameError(f"adapter: unknown {implementation!r}; {nearest(implementation, names)}give {known}")


@contextmanager
def opened(
    implementation: str,
    *,
    limit: float = LIMIT,
    start_limit: float = START_LIMIT,
    device: str = "cpu",
    progress: Callable[[str], None] = lambda text: None,
) -> Iterator[Subject]:
    """Context manager that starts a subject and stops it when the block ends.

    Raises:
        FedspecError: it cannot be found, imported or started.
    """
    if device.partition(":")[0] not in {"cpu", "cuda"}:
        raise UnknownNameError(f"device: unknown {device!r}; known: cpu, cuda, cuda:N")
    kind, _, rest = implementation.partition(":")
    environment: Mapping[str, str] = {}
    if implementation == "spec":
        yield InProcess(REFERENCE)
        return
    if kind == "mutant" and rest:
        yield InProcess(mutants.Mutated(mutants.find(rest)))
        return
    if implementation in extensions.names(extensions.SUBJECTS):
        try:
            command = _serve(extensions.found(extensions.SUBJECTS, implementation, f"adapter: {implementation}").value)
        except FedspecError as error:
            raise ContractError(str(error)) from error
        environment = {"FEDSPEC_DEVICE": device}
    elif reference := environments.python_reference(implementation):
        command = _serve(reference)
    elif kind == "cmd" and rest:
        try:
            command = shlex.split(rest)
        except ValueError as error:
            raise ContractError(f"adapter: cannot read the command {rest!r}: {error}; check its quotes") from error
        if not command:
            raise ContractError("adapter: cmd: names no command; give one, as in 'cmd:./program argument'")
    else:
        (name,) = expand(implementation)
        command = environments.command(name, progress)
    with Process(command, limit=limit, start_limit=start_limit, environment=environment) as process:
        yield process


def _serve(reference: str) -> list[str]:
    # Safe path: what lies in the user's folder must not stand in for a module that serving needs.
    return [sys.executable, "-P", "-m", "fedspec.serve", reference]
