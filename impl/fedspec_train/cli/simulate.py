"""Command ``fedspec simulate``: train a small model on real data with one or more algorithms, and compare them.

Torch, scikit-learn and matplotlib are imported when the command runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.catalogue import id_of
from fedspec.entry import Algorithm
from fedspec.errors import FedspecError, to_install
from fedspec.usual import usual
from fedspec_suite.report.terminal import complaints, console, unbroken
from fedspec_suite.report.terminal import progress as progress_line
from fedspec_train.cli.settings import cohort_of, falling, local_work, own_solvers, set_and_tried, shape_of, with_values
from fedspec_train.cli.training import PlaceError, Places, begun, play_each, show, whole, write
from fedspec_train.cli.tuning import Question, found, mark, summed_up, tuning_record
from fedspec_train.cli.tuning import show as show_tuning
from fedspec_train.report import curves
from fedspec_train.report.progress import Pace


def mount(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command("simulate")
    def simulate_(
        algorithm: Annotated[str, typer.Argument(help="Its id (fedspec list); level round or trace.")],
        data: Annotated[
            str,
            typer.Option(help="digits, breast-cancer, quadratics, ...: docs/simulate.md; NAME:KEY=VALUE sets of it."),
        ] = "digits",
        model: Annotated[
            str | None, typer.Option(help="logistic, mlp, cnn or matrices, whichever fit the data; else the usual one.")
        ] = None,
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
        seeds: Annotated[
            int, typer.Option(min=1, help="So many, from --seed on; the picture shows median and band.")
        ] = 1,
        compare: Annotated[str, typer.Option(help="Other algorithms, separated by commas.")] = "",
        setting: Annotated[
            list[str] | None,
            typer.Option("--set", help="[ALGORITHM:]NAME=VALUE of a parameter or option, or solver=ID; repeatable."),
        ] = None,
        tuning: Annotated[
            list[str] | None,
            typer.Option("--tune", help="[ALGORITHM:]NAME=VALUE,VALUE,... to try on data held out; repeatable."),
        ] = None,
        tune_by: Annotated[str, typer.Option(help="What is tried is judged by: loss or accuracy.")] = "loss",
        tune_seeds: Annotated[
            int, typer.Option(min=1, help="How often each is tried, drawn anew, and judged by the mean.")
        ] = 1,
        preset: Annotated[
            str | None, typer.Option(help="Values or grids that a paper prints, such as fedada2-table-3; --set wins.")
        ] = None,
        decay: Annotated[
            float, typer.Option(min=0, help="What eta_l is multiplied by after every round; 1: nothing.")
        ] = 1.0,
        schedule: Annotated[
            str | None,
            typer.Option(help="Of eta_l, to the last round: cosine; steps:50,75 (a tenth from each of these on)."),
        ] = None,
        warm_up: Annotated[int, typer.Option(min=0, help="Rounds over which eta_l rises to what it is set to.")] = 0,
        clip: Annotated[float | None, typer.Option(help="The largest length of a client's gradient.")] = None,
        clip_value: Annotated[
            float | None, typer.Option(help="The largest magnitude of an entry of a gradient; not with --clip.")
        ] = None,
        weight_decay: Annotated[float, typer.Option(help="So many times the local model in each gradient.")] = 0.0,
        accumulate: Annotated[int, typer.Option(min=1, help="Minibatches that a gradient is the mean of.")] = 1,
        way: Annotated[
            str | None, typer.Option(help="How gradients are taken, for runs that are equal bit for bit: looped, ...")
        ] = None,
        reading: Annotated[
            str | None, typer.Option(help="Of the first algorithm; others run the canonical one.")
        ] = None,
        device: Annotated[str, typer.Option(help="cpu, cuda, cuda:1, ...")] = "cpu",
        shards: Annotated[
            int | None, typer.Option(min=1, help="Parts of the clients, whole ones on a rank; else one a rank.")
        ] = None,
        out: Annotated[
            Path,
            typer.Option(help="Where OUT.png and OUT.json are written; or the picture, ending in .png, .svg or .pdf."),
        ] = Path("out/simulate"),
        against: Annotated[str, typer.Option(help="Across in the picture: rounds, floats, seconds.")] = "rounds,floats",
        panels: Annotated[
            str, typer.Option(help="Up in it: loss, test-loss, accuracy, clients-loss, clients-accuracy.")
        ] = "test-loss,accuracy",
        client_tests: Annotated[
            float | None,
            typer.Option(help="Share of each client's examples for a test set of its own, such as 0.2: a row more."),
        ] = None,
        save: Annotated[
            Path | None, typer.Option(help="Where the run is saved; of several runs each at FILE-ALGORITHM-SEED.")
        ] = None,
        save_every: Annotated[float, typer.Option(min=0, help="Seconds between two savings; 0: each round.")] = 60.0,
        log: Annotated[
            Path | None, typer.Option(help="A row for each round: .csv or .jsonl; of several runs as with --save.")
        ] = None,
        resume: Annotated[
            Path | None, typer.Option(help="Go on with what --save has written, under the same other options.")
        ] = None,
    ) -> None:
        """Train a model with an algorithm of the catalogue, and others beside it, on real data.

        Prints a table and writes a picture (loss and accuracy against rounds and against the floats sent, unless
        --panels and --against say others) and a JSON of every round. A setting is for each algorithm that knows its
        name. Usual values stand in for what is not set, and are printed; they are not tuned, so that a comparison is
        one of settings, not of algorithms. What --tune names is tried first, all combinations of it, on data of the
        training clients that are held out.

        It needs pip install './impl[simulate]': torch, scikit-learn, matplotlib.

        Ctrl-C, SIGTERM and SIGHUP end it with the table so far, and with the run saved where --save says.

        On several processes: torchrun --nproc-per-node 4 --no-python fedspec simulate ALGORITHM ...
        """
        try:
            mirror, tasks = import_module("fedspec_torch"), import_module("fedspec_torch.tasks")
            import_module("sklearn"), import_module("matplotlib")
        except ModuleNotFoundError as missing:
            raise FedspecError(f"simulate needs {missing.name}: {to_install('simulate', 'fedspec-torch')}") from missing
        ranked, held_out = map(import_module, ("fedspec_torch.ranks.processes", "fedspec_torch.run.held_out"))
        names = dict.fromkeys(id_of(name.strip()) for name in (algorithm, *filter(None, compare.split(","))))
        with ranked.joined() as ranks, _said_once(ranks, ranked.RankError):
            rows = [import_module("fedspec_torch.run.arguments").trainer(name) for name in names]
            setting, rows = own_solvers(setting or (), rows)
            look = {
                "against": curves.chosen("--against", against, curves.AGAINST),
                "panels": curves.chosen("--panels", panels, curves.PANELS),
            }
            (given, grids), size = set_and_tried(setting or (), tuning or (), rows), cohort_of(cohort, clients)
            readings = {rows[0].id: reading}
            if preset is not None:
                given, grids, readings = with_values(preset, given, grids, readings)
            tuned = any(grids.values())
            if client_tests is not None:
                held_out.check_share(client_tests, "--client-tests", "")
                if not any(panel.startswith(curves.OF_CLIENTS) for panel in look["panels"]):
                    look["panels"] = (*look["panels"], f"{curves.OF_CLIENTS}accuracy")
            findings: dict[str, Any] = {}
            sources: set[str] = set()
            if tuned and ranks.size > 1:
                raise FedspecError(
                    "--tune: it runs on one process only; tune without torchrun, and --set the chosen values"
                )
            if client_tests is not None and ranks.size > 1:
                raise FedspecError("--client-tests: it runs on one process only; leave it out, or run without torchrun")
            how_many = local_work(steps, redraw, epochs, batch, accumulate)
            shape = shape_of(schedule, decay, warm_up, rounds)
            said = {"decay": (decay, 1.0), "schedule": (schedule, None), "warm_up": (warm_up, 0)}
            changes = {name: value for name, (value, usually) in said.items() if value != usually}
            stated = dict(clip=clip, clip_value=clip_value, weight_decay=weight_decay, accumulate=accumulate, way=way)
            count = ranks.size if shards is None else shards
            shared = import_module("fedspec_torch.ranks.shards")
            mine = shared.Shards(clients, count, ranks).mine if ranks.size > 1 else None
            places = Places(out, save, resume, save_every, len(rows) * seeds > 1, log)
            if ranks.rank == 0:
                places.check()
                # What was tried alone may be all that is saved.
                each = product((r.id for r in rows), range(seed, seed + seeds))
                if anew := [] if tuned else places.check_resumed(each):
                    complaints().print(f"fedspec: --resume: nothing is saved of {'; '.join(anew)}: begun anew")

            def begin(row: Algorithm, s: int) -> tuple[Any, dict[str, Any], int]:
                """A run, or what was saved of it, with its settings and its seed."""
                said = readings.get(row.id)
                parts = dict(clients=clients, alpha=alpha, batch_size=batch, seed=s, device=device, mine=mine)
                task = tasks.task(data, model, **parts)
                federation, own_tests = replace(task.federation, **stated), None
                if client_tests is not None:
                    if task.minimiser is not None:
                        raise FedspecError(
                            f"--client-tests: the examples of {data} define its objective, so none can be held out; "
                            "choose --data digits, for example"
                        )
                    federation, own_tests = held_out.own_tests(federation, client_tests, s)
                task = replace(task, federation=federation)
                plan = tasks.plan(row, clients, size, steps=how_many, graph=graph, delay=delay, seed=s)
                if grids[row.id] and row.id not in findings:
                    asked = Question(row, said, given[row.id], grids[row.id], rounds, shape, tune_by, s, tune_seeds)
                    findings[row.id] = found(mirror, asked, task.federation, plan, places, pace)
                chosen = given[row.id] | (dict(findings[row.id].choice) if row.id in findings else {})
                own = {**usual(row, said, chosen), **chosen}
                sources.update({"given"} if given[row.id] else (), {"usual"} if own.keys() - chosen else ())
                numbers, rates = falling(own, shape)
                own |= changes if rates else {}
                written = places.of(log, row.id, s) if log else None
                more = {"test": task.test, "shards": shards, "rates": rates, "log": written, "client_tests": own_tests}
                given_run = dict(plan=plan, rounds=rounds, reading=said, **more, **numbers)
                run = mirror.simulate(row.id, task.federation, **given_run)
                return begun(mirror, places, run, s, tuned=row.id in findings, **more), own, s

            tried = sum(math.prod(map(len, grid.values())) for grid in grids.values() if grid)
            with progress_line() if ranks.rank == 0 else nullcontext(_silent) as tell:
                pace = Pace(rounds * (len(rows) * seeds + tried * tune_seeds), tell)
                asked = (begin(row, s) for row, s in product(rows, range(seed, seed + seeds)))
                runs, ended, diverged = play_each(asked, places, pace)
            stopped = tuned and isinstance(ended, KeyboardInterrupt)
            if ranks.rank == 0 and (runs or findings or stopped):
                drawn = f"{steps or 5}{' in each round' if redraw else ''}"
                work = drawn if epochs is None else f"{epochs:g} epochs"
                what = dict(data=data, model=tasks.model_of(data, model), clients=clients, cohort=size)
                what |= dict(batch=batch, steps=work)
                what |= {} if preset is None else {"preset": preset}
                what |= {} if client_tests is None else {"client_tests": client_tests}
                usually = {"clip": None, "clip_value": None, "weight_decay": 0.0, "accumulate": 1, "way": None}
                what |= {name: value for name, value in stated.items() if value != usually[name]}
                what |= {"alpha": alpha} if tasks.kind_of(data)[0].by_label else {}
                if note := tasks.kind_of(data)[0].note():
                    complaints().print(f"fedspec: {note}")
                try:
                    what |= {"ranks": ranks.size, "shards": count}
                    lost = diverged.count if diverged else 0
                    _tell(runs, findings, what, places, len(rows) * seeds, lost, look, sources)
                except PlaceError as error:
                    if ended is None:
                        raise
                    complaints().print(f"fedspec: {error}")
            if diverged and ended:
                complaints().print(f"fedspec: {diverged}")
            if wrong := ended or diverged:
                raise wrong


def _tell(
    runs: Sequence[dict[str, Any]],
    findings: dict[str, Any],
    what: dict[str, Any],
    places: Places,
    asked: int,
    diverged: int,
    look: dict[str, Any],
    sources: set[str],
) -> None:
    """Print the tables, whatever becomes of the files."""
    shown = console()
    with unbroken():
        show_tuning(findings, shown)
        if runs:
            mark(runs, findings)
            show(runs, shown)
            tried = {name: tuning_record(tuning) for name, tuning in findings.items()}
            write(places, runs, what, tried, tuned=findings, **look)
            picture, record = places.written
            shown.print(f"{picture} and {record} written; {summed_up(runs, findings, sources)}", soft_wrap=True)
        done = [*filter(whole, runs)]
        ends = f"{len(done)} of {asked} runs were played to their end" + (f", {diverged} diverged" if diverged else "")
        if len(done) + diverged == asked:
            if diverged:
                shown.print(ends, soft_wrap=True)
        else:
            save = places.save
            # Runs, or what a tuning has tried so far.
            kept = save and any(save.parent.glob(f"{save.stem}*"))
            goes_on = f"the same command with --resume {save} goes on" if kept else "nothing was saved"
            again = f"; {goes_on}" if save else ""
            shown.print(f"ended early: {ends}{again}", soft_wrap=True)


@contextmanager
def _said_once(ranks: Any, of_ranks: type[FedspecError]) -> Iterator[None]:
    """Report an error that all ranks have on rank 0 only; report a rank that has ended on all others."""
    try:
        yield
    except FedspecError as error:
        if ranks.rank and not isinstance(error, of_ranks):
            raise typer.Exit(2) from error
        raise


def _silent(line: str) -> None:
    pass
