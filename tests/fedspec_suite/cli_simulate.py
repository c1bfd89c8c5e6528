"""The command ``fedspec simulate``: algorithms train a small model on real data, side by side.

Torch, scikit-learn and matplotlib are imported when the command runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import id_of
from fedspec.entry import Algorithm
from fedspec.errors import FedspecError, ParameterError, to_install
from fedspec_suite.cli_training import PlaceError, Places, begun, play_each, show, whole, write
from fedspec_suite.report.terminal import complaints, console, spinner, unbroken

USUAL: dict[str, float] = {
    "eta_l": 0.1,
    "eta": 1.0,
    "beta": 0.9,
    "beta1": 0.9,
    "beta2": 0.99,
    "beta3": 0.9,
    "beta1_l": 0.9,
    "beta2_l": 0.99,
    "tau": 1e-3,
    "eps": 1e-3,
    "v0": 1e-6,
    "v_hat0": 1e-6,
    "mu": 0.01,
    "rho": 0.9,
    "gamma": 0.99,
    "mix": 0.6,
    "buffer": 5,
    "clip_norm": 1.0,
    "sigma": 0.01,
}
"""What a hyper-parameter is unless it is set. They are starting points, not tuned ones."""

ADAPTIVE: dict[str, float] = {"eta": 0.03}
"""The same where the server divides by a root of its second moment."""

LOCALLY: dict[str, float] = {"eta_l": 0.01}
"""The same where clients do, by an average."""


def number_or_word(text: str) -> Any:
    """What stands behind the equals sign."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def assigned(settings: Sequence[str], rows: Sequence[Algorithm]) -> dict[str, dict[str, Any]]:
    """What ``NAME=VALUE`` and ``ALGORITHM:NAME=VALUE`` set of each algorithm; the latter goes before the former.

    Raises:
        ParameterError: one has no equals sign, or nobody has a parameter of that name.
    """
    found: dict[str, dict[str, Any]] = {row.id: {} for row in rows}
    for setting in sorted(settings, key=lambda s: ":" in s.partition("=")[0]):
        left, equals, value = setting.partition("=")
        *only, name = left.split(":", 1)
        if not equals:
            raise ParameterError(f"--set {setting}: expected NAME=VALUE, such as eta_l=0.1, or ALGORITHM:NAME=VALUE")
        asked = [row for row in rows if row.id in (map(id_of, only) if only else found)]
        takers = [row.id for row in asked if name in row.parameters]
        if not takers:
            known = ", ".join(dict.fromkeys(n for row in asked or rows for n in row.parameters))
            ids = ", ".join(row.id for row in rows)
            raise ParameterError(f"--set {left}: none of {ids} has it; known: {known}")
        for taker in takers:
            found[taker][name] = number_or_word(value)
    return found


def local_work(text: str | None, redraw: bool, passes: float | None, batch: int) -> Any:
    """What clients do in a round: ``10`` steps, ``2-8`` drawn once for each or in every round, or so many epochs.

    Raises:
        ParameterError: it is no whole number >= 1, and not two of them, the smaller first; or two things are asked.
    """
    own = import_module("fedspec_torch")
    if passes is not None:
        if text is not None or redraw:
            raise ParameterError(
                "--epochs: says how many steps clients take, as --steps and --redraw do; leave these out"
            )
        return own.epochs(passes, batch_size=batch)
    found = spread(text or "5")
    if redraw and isinstance(found, int):
        raise ParameterError(f"--redraw: of --steps {found} nothing is drawn; give the least and greatest, such as 2-8")
    return own.each_round(*found) if redraw else found


def spread(text: str) -> Any:
    """A number of local steps, or the least and greatest: ``10``, ``2-8``.

    Raises:
        ParameterError: it is no whole number >= 1, and not two of them, the smaller first.
    """
    low, dash, high = text.partition("-")
    try:
        found = (int(low), int(high)) if dash else (int(low), int(low))
    except ValueError:
        found = (0, 0)
    if not 1 <= found[0] <= found[1]:
        raise ParameterError(f"--steps {text}: expected a whole number >= 1, or two such as 2-8")
    return found if dash else found[0]


def cohort_of(asked: int | None, clients: int) -> int:
    """The clients of a round; unless it is said, ten, or all of fewer.

    Raises:
        ParameterError: there are not so many.
    """
    if asked is not None and asked > clients:
        raise ParameterError(f"--cohort {asked}: of {clients} clients; ask for 1 to {clients}, or for more --clients")
    return min(asked or 10, clients)


def hyper(row: Any, reading: str | None, given: dict[str, Any]) -> dict[str, Any]:
    """What is given, and usual values for what else the algorithm asks for."""
    options = {n: str(v) for n, v in given.items() if n in row.options}
    needed = import_module("fedspec_torch.run.asked").needed(row, row.resolve(reading or row.readings[0].name, options))
    usual = dict(USUAL)
    if {"tau", "eps", "v_hat0"} & set(needed) and "eta" in needed:
        usual |= ADAPTIVE
    if "beta2_l" in needed or ("beta2" in needed and "eta" not in needed):
        usual |= LOCALLY
    return {**{n: usual[n] for n in needed if n in usual}, **given}


def falling(numbers: dict[str, Any], decay: float) -> tuple[dict[str, Any], dict[str, Any]]:
    """Hyper-parameters without the client rate, and that rate by round, where it falls."""
    if decay == 1 or "eta_l" not in numbers:
        return numbers, {}
    rate = numbers["eta_l"]
    return {n: v for n, v in numbers.items() if n != "eta_l"}, {"eta_l": lambda r: rate * decay**r}


def mount(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("simulate")
    def simulate_(
        algorithm: Annotated[str, typer.Argument(help="Its id (fedspec list); level round or trace.")],
        data: Annotated[str, typer.Option(help="digits or breast-cancer: small real data.")] = "digits",
        model: Annotated[str, typer.Option(help="logistic, mlp or cnn (digits only).")] = "mlp",
        clients: Annotated[int, typer.Option(min=1, help="How many the data are split over.")] = 100,
        alpha: Annotated[float, typer.Option(help="Dirichlet's, of the split by label; small: unlike clients.")] = 0.3,
        cohort: Annotated[
            int | None, typer.Option(min=1, help="Clients of a round, 10; all where an algorithm asks all.")
        ] = None,
        steps: Annotated[
            str | None, typer.Option(help="Local steps, 5: a number; or 2-8, drawn between them once for each client.")
        ] = None,
        redraw: Annotated[bool, typer.Option("--redraw", help="Draw the steps anew in every round.")] = False,
        epochs: Annotated[
            float | None, typer.Option(help="Passes E over the own examples instead: floor(E n_i / batch) steps.")
        ] = None,
        batch: Annotated[int, typer.Option(min=1, help="Examples of a minibatch.")] = 16,
        rounds: Annotated[int, typer.Option(min=1, help="Server steps, or exchanges.")] = 100,
        graph: Annotated[str, typer.Option(help="Of gossip: ring, complete or star.")] = "ring",
        delay: Annotated[int, typer.Option(min=0, help="The largest delay of late updates.")] = 5,
        seed: Annotated[int, typer.Option(min=0, help="Of split, initial model, cohorts and minibatches.")] = 0,
        seeds: Annotated[int, typer.Option(min=1, help="So many, from --seed on; the picture shows their range.")] = 1,
        compare: Annotated[str, typer.Option(help="Other algorithms, separated by commas.")] = "",
        setting: Annotated[
            list[str] | None,
            typer.Option("--set", help="[ALGORITHM:]NAME=VALUE of a hyper-parameter or option; repeatable."),
        ] = None,
        decay: Annotated[
            float, typer.Option(min=0, help="What eta_l is multiplied by after every round; 1: nothing.")
        ] = 1.0,
        reading: Annotated[
            str | None, typer.Option(help="Of the first algorithm; others run the canonical one.")
        ] = None,
        device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")] = "cpu",
        shards: Annotated[
            int | None, typer.Option(min=1, help="Parts of the clients, whole ones on a rank; else one a rank.")
        ] = None,
        out: Annotated[Path, typer.Option(help="Where OUT.png and OUT.json are written.")] = Path("out/simulate"),
        save: Annotated[
            Path | None, typer.Option(help="Where the run is saved; of several runs each at FILE-ALGORITHM-SEED.")
        ] = None,
        save_every: Annotated[float, typer.Option(min=0, help="Seconds between two savings; 0: each round.")] = 60.0,
        resume: Annotated[
            Path | None, typer.Option(help="Go on with what --save has written, under the same other options.")
        ] = None,
    ) -> None:
        """Train a model with an algorithm of the catalogue, and others beside it, on real data.

        Prints a table and writes a picture (loss and accuracy against rounds and against the floats sent) and a JSON
        of every round. A setting is for each algorithm that knows its name. Usual values stand in for what is not
        set, and are printed; they are not tuned, so that a comparison is one of settings, not of algorithms.

        Ctrl-C, SIGTERM and SIGHUP end it with the table so far, and with the run saved where --save says.

        On several processes: torchrun --nproc-per-node 4 --no-python fedspec simulate ALGORITHM ...
        """
        try:
            mirror, tasks = import_module("fedspec_torch"), import_module("fedspec_torch.tasks")
            import_module("sklearn"), import_module("matplotlib")
        except ModuleNotFoundError as missing:
            raise FedspecError(f"simulate needs {missing.name}: {to_install('simulate')}") from missing
        ranked = import_module("fedspec_torch.ranks.processes")
        names = dict.fromkeys(id_of(name.strip()) for name in (algorithm, *filter(None, compare.split(","))))
        with ranked.joined() as ranks, _said_once(ranks, ranked.RankError):
            rows = [import_module("fedspec_torch.run.asked").trainer(name) for name in names]
            given, size = assigned(setting or (), rows), cohort_of(cohort, clients)
            how_many = local_work(steps, redraw, epochs, batch)
            count = ranks.size if shards is None else shards
            shared = import_module("fedspec_torch.ranks.shards")
            mine = shared.Shards(clients, count, ranks).mine if ranks.size > 1 else None
            places = Places(out, save, resume, save_every, len(rows) * seeds > 1)
            if ranks.rank == 0:
                places.check()

            def begin(row: Algorithm, s: int) -> tuple[Any, dict[str, Any], int]:
                """A run, or what was saved of it, with its settings and its seed."""
                said = reading if row is rows[0] else None
                own = hyper(row, said, given[row.id])
                parts = dict(clients=clients, alpha=alpha, batch_size=batch, seed=s, device=device, mine=mine)
                task = tasks.task(data, model, **parts)
                plan = tasks.plan(row, clients, size, steps=how_many, graph=graph, delay=delay, seed=s)
                numbers, rates = falling(own, decay)
                own |= {"decay": decay} if rates else {}
                more = {"test": task.test, "shards": shards, "rates": rates}
                given_run = dict(plan=plan, rounds=rounds, reading=said, **more, **numbers)
                run = mirror.simulate(row.id, task.federation, **given_run)
                return begun(mirror, places, run, s, **more), own, s

            with spinner() if ranks.rank == 0 else nullcontext(_silent) as progress:
                asked = (begin(row, s) for row, s in product(rows, range(seed, seed + seeds)))
                runs, ended = play_each(asked, places, progress)
            if ranks.rank == 0 and runs:
                drawn = f"{steps or 5}{' in each round' if redraw else ''}"
                work = drawn if epochs is None else f"{epochs:g} epochs"
                what = dict(data=data, model=model, clients=clients, alpha=alpha, batch=batch, steps=work)
                try:
                    _tell(runs, what | {"ranks": ranks.size, "shards": count}, places, len(rows) * seeds)
                except PlaceError as error:
                    if ended is None:
                        raise
                    complaints().print(f"fedspec: {error}")
            if ended is not None:
                raise ended


def _tell(runs: Sequence[dict[str, Any]], what: dict[str, Any], places: Places, asked: int) -> None:
    """Print the table, whatever becomes of the files."""
    shown = console()
    with unbroken():
        show(runs, shown)
        write(places, runs, what)
        picture, record = places.written
        shown.print(f"{picture} and {record} written; settings are usual ones, not tuned", soft_wrap=True)
        done = [*filter(whole, runs)]
        if len(done) < asked:
            again = f"; the same command with --resume {places.save} goes on" if places.save else ""
            shown.print(f"ended early: {len(done)} of {asked} runs were played to their end{again}", soft_wrap=True)


@contextmanager
def _said_once(ranks: Any, of_ranks: type[FedspecError]) -> Iterator[None]:
    """Of an error that all ranks have alike rank 0 speaks; of a rank that is gone, all others."""
    try:
        yield
    except FedspecError as error:
        if ranks.rank and not isinstance(error, of_ranks):
            raise typer.Exit(2) from error
        raise


def _silent(line: str) -> None:
    pass
