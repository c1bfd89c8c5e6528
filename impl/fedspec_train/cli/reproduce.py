"""Command ``fedspec reproduce``: run the experiment of a paper's claim, and print whether the claim holds.

Torch and what else training needs are imported when the command runs.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec.errors import FedspecError, ParameterError, to_install
from fedspec_suite.report.terminal import Json, complaints, console, emit, spinner, table, unbroken
from fedspec_train.cli.training import PlaceError
from fedspec_train.report import recipe_picture

SMALL = "Size small decides nothing, --size large does: seeds are too few and runs too short. "
"""Caveat before a sentence about small runs: one of two seeds may support a claim and the other may not."""


def mount(app: typer.Typer) -> None:
    """Add the command to the application."""

    @app.command(epilog="Exit code: 0 whatever comes out, 2 a usage error or a recipe that cannot be run.")
    def reproduce(
        name: Annotated[
            str | None, typer.Argument(metavar="RECIPE", help="Its id, or a TOML file; none lists them.")
        ] = None,
        size: Annotated[str, typer.Option(help="small (seconds, decides nothing) or large (minutes).")] = "large",
        retune: Annotated[
            bool, typer.Option("--retune", help="Run its grids and nothing else, and say what wins.")
        ] = False,
        out: Annotated[Path, typer.Option(help="The folder of the picture and the JSON.")] = Path("out/reproduced"),
        anew: Annotated[bool, typer.Option("--anew", help="Leave aside what an earlier command has run.")] = False,
        store: Annotated[
            Path | None, typer.Option(help="A folder in which RECIPE.json keeps what was measured.")
        ] = None,
        as_json: Json = False,
    ) -> None:
        """Run a paper's claim and say whether it appears here, and by how much.

        A recipe has the task, the algorithms with their values and the grid these were won on, and the checks that were
        fixed before. Every run is written down as it ends: a command that is broken off goes on where it was. It needs
        pip install './impl[simulate]': torch, scikit-learn, matplotlib.
        """
        if size not in ("small", "large"):
            raise ParameterError(f"--size {size}: give small or large")
        recipes = _mirror("fedspec_torch.recipes")
        if name is None:
            _list(recipes, as_json)
            return
        # Models are small: threads would wait for each other, and change the last bits.
        _mirror("torch").set_num_threads(1)
        recipe = recipes.read(name) if name.endswith(".toml") else recipes.recipe(name)
        stored = _mirror("fedspec_torch.recipes.store")
        if not retune:
            # Before anything is run for the picture.
            _mirror("matplotlib"), _mirror("sklearn")
        file = _place(out, f"{recipe.id}-{size}")
        beside = None if store is None else _place(store, recipe.id, "--store")
        found = stored.Stored(recipe, size, stored.versions()) if anew else stored.opened(recipe, size, file)
        try:
            if retune:
                _tune(recipe, size, found, file)
                return
            _play(recipe, size, found, file)
            recipe_picture.draw(recipe, found.runs, size, file.with_suffix(".png"))
            if beside is not None:
                stored.write(found, beside, brief=True)
        except OSError as error:
            raise PlaceError(f"{error.filename or out}: {error.strerror}") from error
        kind_of = _mirror("fedspec_torch.tasks").kind_of
        for note in sorted({kind_of(t.setting.data)[0].note() for t in recipe.trials} - {""}):
            complaints().print(f"fedspec: {note}")
        findings = recipes.judge(recipe, found.runs)
        said = (SMALL if size == "small" else "") + recipes.sentence(findings)
        if as_json:
            emit([_whole(recipe, size, found, findings, said)])
            return
        _tell(recipe, found, said, file)


def _mirror(module: str) -> Any:
    try:
        return import_module(module)
    except ModuleNotFoundError as missing:
        raise FedspecError(f"reproduce needs {missing.name}: {to_install('simulate', 'fedspec-torch')}") from missing


def _place(out: Path, stem: str, option: str = "--out") -> Path:
    """Path of the file of the runs; its folder is made before training begins.

    Raises:
        PlaceError: the folder can't be made.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise PlaceError(f"{option} {out}: cannot make the folder: {error.strerror}") from error
    return out / f"{stem}.json"


def _list(recipes: Any, as_json: bool) -> None:
    rows = [recipes.recipe(id) for id in recipes.names()]
    if as_json:
        emit([{"id": r.id, "paper": r.paper, "place": r.place, "claim": r.claim} for r in rows])
        return
    t = table("recipe", "paper", "place", "claim")
    for r in rows:
        t.add_row(r.id, r.paper, r.place, r.claim)
    console().print(t)


def _play(recipe: Any, size: str, found: Any, file: Path) -> None:
    """Run the trials that aren't stored yet; each run is written when it ends."""
    playing, stored = _mirror("fedspec_torch.recipes.runner"), _mirror("fedspec_torch.recipes.store")
    total = len(recipe.trials) * recipe.sizes[size].seeds
    with spinner() as progress:
        progress(f"{recipe.id}: {len(found.runs)} of {total} runs")
        for record in playing.play(recipe, size, found.has):
            found.add(record)
            stored.write(found, file)
            progress(f"{recipe.id}: {len(found.runs)} of {total} runs")


def _tune(recipe: Any, size: str, found: Any, file: Path) -> None:
    """Run the grids, point by point, and say what wins."""
    playing, stored = _mirror("fedspec_torch.recipes.runner"), _mirror("fedspec_torch.recipes.store")
    told = _mirror("fedspec_torch.recipes.tables")
    for trial in (t for t in recipe.trials if t.grid):
        tried, points = found.grids.setdefault(trial.name, []), playing.points(trial)
        known = [point for point, _ in tried]
        with spinner() as progress:
            for point in points:
                if point not in known:
                    tried.append((point, playing.tried(recipe, size, trial, point)))
                    stored.write(found, file)
                progress(f"{recipe.id}: {trial.name}: {points.index(point) + 1} of {len(points)} points")
        console().print(told.tuned(trial, playing.best(recipe, trial, tried)), soft_wrap=True)


def _whole(recipe: Any, size: str, found: Any, findings: Any, said: str) -> dict[str, Any]:
    """The result as data; the file has the course of every run."""
    checks = [
        {
            "measure": f.check.measure,
            "relation": f.check.relation,
            "holds": f.holds,
            "values": list(f.values),
            "words": f.words,
        }
        for f in findings
    ]
    return {
        "recipe": recipe.id,
        "size": size,
        "date": found.date,
        "versions": found.versions,
        "sentence": said,
        "checks": checks,
    }


def _tell(recipe: Any, found: Any, said: str, file: Path) -> None:
    told = _mirror("fedspec_torch.recipes.tables")
    with unbroken():
        shown = console()
        shown.print(f"{recipe.paper}, {recipe.place}: {recipe.claim}", soft_wrap=True)
        t = table(*told.head(recipe))
        for row in told.rows(recipe, found.runs):
            t.add_row(*row)
        shown.print(t)
        shown.print(said, soft_wrap=True)
        shown.print(f"{file} and {file.with_suffix('.png')} written", soft_wrap=True)
