"""The command ``fedspec claims``: the ledger of the papers' statements, each with a verdict and evidence that runs."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from fedspec import papers
from fedspec.errors import FedspecError, ParameterError, UnknownNameError, to_install
from fedspec_proofs import chain as chains
from fedspec_proofs import ledger
from fedspec_proofs import stored as store
from fedspec_proofs.report import claims as shown
from fedspec_suite.report import terminal
from fedspec_suite.report.terminal import Json

app = typer.Typer(
    rich_markup_mode=None,
    help="The statements of the five papers: what is proved, checked, refuted or repaired, and the evidence.",
)

EXIT_CODES = "Exit code: 0 every claim came out as it stands, 1 one did not, or timed out, 2 usage error."


def _need(what: str, extras: str, *modules: str) -> None:
    """Refuse to begin without what evidence runs on.

    Raises:
        FedspecError: a package is missing; the message has the command that installs it.
    """
    if missing := [module for module in modules if find_spec(module) is None]:
        raise FedspecError(f"{what}: it needs {' and '.join(missing)}; {to_install(extras, 'fedspec-proofs')}")


def _key(paper: str) -> str:
    return papers.find(paper).key if paper else ""


def _chosen(paper: str, verdict: str) -> dict[str, Any]:
    if verdict and verdict not in ledger.verdicts():
        raise UnknownNameError(f"verdict: got {verdict!r}; choose one of {', '.join(ledger.verdicts())}")
    return {
        id: claim
        for id, claim in ledger.claims().items()
        if paper in ("", claim.paper) and verdict in ("", ledger.kind(claim))
    }


@app.callback(invoke_without_command=True)
def table(
    context: typer.Context,
    paper: Annotated[str, typer.Option(help="Only this paper.", callback=_key)] = "",
    verdict: Annotated[str, typer.Option(help="The claims of this verdict.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Every claim: steps, assumptions, readings too.")] = False,
    as_json: Json = False,
) -> None:
    """The statements of the five papers: what is proved, checked, refuted or repaired, and the evidence.

    Without a command: the theorems, lemmas, propositions and corollaries, a line for each; with ``--verdict`` or
    ``--all`` a line for each claim. ``--json`` always has every claim.
    """
    if context.invoked_subcommand:
        return
    stored = store.load()
    chosen = _chosen(paper, verdict)
    if not (as_json or everything or verdict):
        shown.lead(paper, stored, ledger, terminal.console())
        return
    if as_json:
        terminal.emit([shown.row(c, stored.get(id), ledger) for id, c in chosen.items()])
        return
    shown.table(chosen, stored, ledger, terminal.console())


@app.command()
def show(id: Annotated[str, typer.Argument(metavar="ID")], as_json: Json = False) -> None:
    """Show one claim: its statement, assumptions, premises, evidence and source."""
    claim, record = ledger.find(id), store.load().get(id)
    if as_json:
        terminal.emit([shown.row(claim, record, ledger)])
        return
    shown.page(claim, record, ledger, chains, terminal.console())


def _with_links(ids: list[str]) -> list[str]:
    """Ids of some claims and of the claims that they follow from, the links first."""
    out: dict[str, None] = {}
    for id in ids:
        found = chains.links(ledger.find(id))
        if not found:
            raise ParameterError(f"claims run --chain: {id} follows from no other claim; leave out --chain")
        out |= dict.fromkeys([*reversed([link.claim.id for link in found]), id])
    return list(out)


@app.command("run", epilog=EXIT_CODES)
def run_(
    ids: Annotated[list[str] | None, typer.Argument(metavar="ID...", help="Claims or false variants.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every claim, and every false variant.")] = False,
    paper: Annotated[str, typer.Option(help="Every claim and false variant of this paper.", callback=_key)] = "",
    upto: Annotated[float, typer.Option(help="Only those whose stored run took at most so many seconds.")] = math.inf,
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 2,
    limit: Annotated[float, typer.Option(help="Seconds of processor time that one claim may take.")] = 120.0,
    save: Annotated[bool, typer.Option("--store", help="Renew the lines of the ledger that fedspec carries.")] = False,
    recheck: Annotated[
        bool, typer.Option(help="Search a twentieth as long, and compare with what is stored: instances and words.")
    ] = False,
    chain: Annotated[bool, typer.Option("--chain", help="Links too; one that fails fails what follows.")] = False,
    as_json: Json = False,
) -> None:
    """Run the evidence of some claims again, and report whether each verdict is the recorded one."""
    if save and recheck:
        raise ParameterError("claims run: --store needs complete searches; leave out --recheck")
    if not 0 < limit < float("inf"):
        raise ParameterError(f"limit: got {limit:g}; it is a number of seconds > 0")
    _need("claims run", "solvers", "sympy", "z3")
    from fedspec_proofs import execution

    known = {**ledger.claims(), **ledger.variants()}
    chosen = [ledger.find(id).id for id in ids or ()]
    if chain:
        chosen = _with_links(chosen)
    chosen += [id for id, c in known.items() if (everything or (paper and c.paper == paper)) and id not in chosen]
    last = store.load()
    long = [id for id in chosen if id in last and last[id].seconds > upto]
    chosen = [id for id in chosen if id not in long]
    if not chosen:
        raise ParameterError("claims run: got no claim; give ids, --paper or --all (`fedspec claims` lists the ids)")
    if save:
        store.save(store.load(), known)
    begun, outcomes = time.monotonic(), {}
    with terminal.progress() as progress:
        for outcome in execution.run(chosen, jobs=jobs, limit=limit, again=recheck):
            # What is stored is renewed: what it showed before is no matter then.
            outcomes[outcome.id] = replace(outcome, lost=()) if save else outcome
            progress(f"{len(outcomes)} of {len(chosen)} claims, last {outcome.id} in {outcome.seconds:.1f} s")
    outcomes = execution.joined(outcomes)
    ordered = [outcomes[id] for id in chosen]
    if save:
        fresh = {o.id: o.record for o in ordered if o.record and o.as_it_stands}
        store.save({**store.load(), **fresh}, known)
        store.save_found({**store.load_found(), **{id: outcomes[id].found for id in fresh}}, known)
    if as_json:
        terminal.emit([shown.outcome(o, known[o.id]) for o in ordered])
    else:
        console = terminal.console()
        shown.outcomes(ordered, known, console)
        stands = sum(o.as_it_stands for o in ordered)
        left = f"longer than {upto:g} s left out"
        counts = {"as it stands": stands, "NOT as it stands": len(ordered) - stands, left: len(long)}
        words = ", ".join(f"{n} {what}" for what, n in counts.items() if n)
        console.print(f"\n{words}; {time.monotonic() - begun:.0f} s")
    raise typer.Exit(0 if all(o.as_it_stands for o in ordered) else 1)


@app.command()
def certify(
    ids: Annotated[list[str] | None, typer.Argument(metavar="[ID]...", help="Claims; all that are certified.")] = None,
) -> None:
    """Recompute the certificates of some claims by semidefinite programming, and store them.

    Running a claim only checks them, with fractions; this is for a rule or a statement that has changed.
    """
    _need("claims certify", "certify,solvers", "clarabel", "scipy", "sympy", "z3")
    from fedspec_proofs.engines.worst_case import certificates, solving

    known = ledger.claims()
    chosen = [ledger.find(id).id for id in ids or certificates.CERTIFIED]
    for id in chosen:
        if id not in certificates.CERTIFIED:
            raise UnknownNameError(
                f"claims certify: {id} has no certificate; claims with one: "
                f"{', '.join(id for id in known if id in certificates.CERTIFIED)}"
            )
    console, lost = terminal.console(), []
    with terminal.progress() as progress:
        for id in chosen:
            found = {}
            for name, case in certificates.CERTIFIED[id].items():
                if one := solving.certificate(case):
                    found[name] = one
                else:
                    lost.append(f"{id}: {name}")
                progress(f"{id}: {name}")
            if found.keys() == certificates.CERTIFIED[id].keys():
                certificates.save({id: found})
                console.print(f"{id}: {len(found)} certificates", highlight=False)
    for name in lost:
        console.print(f"no certificate: {name}", highlight=False, markup=False)
    raise typer.Exit(1 if lost else 0)
