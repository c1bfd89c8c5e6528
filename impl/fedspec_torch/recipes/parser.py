"""Parser of recipes in TOML: built-in ones and files, with errors that name the faulty entry."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from fedspec.errors import FedspecError, none_called
from fedspec.papers import PAPERS
from fedspec.parsing import parse_toml
from fedspec_torch.recipes.checks import RELATIONS
from fedspec_torch.recipes.measures import MEASURES
from fedspec_torch.recipes.presets import preset, with_preset
from fedspec_torch.recipes.recipe import Check, Fall, Normal, Recipe, Setting, Size, Trial
from fedspec_torch.run.arguments import trainer
from fedspec_torch.tasks import model_of
from fedspec_torch.ways.table import WAYS, methods

SIZES = ("small", "large")

LATER = ("absent", "eager")
"""Settings that were introduced after the first runs were stored."""


class RecipeError(FedspecError):
    """Error: a recipe, or its stored runs, is invalid; the message names the file and the entry."""


def names() -> list[str]:
    """Return the ids of the built-in recipes."""
    return sorted(f.name.removesuffix(".toml") for f in _folder().iterdir() if f.name.endswith(".toml"))


def recipe(id: str) -> Recipe:
    """Return the built-in recipe of that id.

    Raises:
        UnknownNameError: no built-in recipe has that id.
    """
    if id not in names():
        raise none_called("recipe", id, names(), "fedspec reproduce")
    return parsed(id, (_folder() / f"{id}.toml").read_text(encoding="utf-8"))


def read(file: str | Path) -> Recipe:
    """Read a recipe from a file.

    Raises:
        RecipeError: the file can't be read, isn't TOML, or has an invalid value.
    """
    path = Path(file)
    try:
        return parsed(path.stem, path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RecipeError(f"{path}: cannot be read: {error.strerror}") from error


def digests(recipe: Recipe, size: str, *, grids: bool = False) -> dict[str, str]:
    """Return a digest of everything that each trial's runs depend on; stored runs are valid only if it is equal.

    Args:
        recipe: the recipe whose trials are digested.
        size: the size of the runs, small or large.
        grids: True: digest the grid searches, which depend neither on the tuned values nor on other trials' grids.
    """
    how, found, usual = recipe.sizes[size], {}, asdict(Setting("", 1))
    for trial in recipe.trials:
        own = {k: v for k, v in asdict(trial).items() if k not in ("name", "grid") and not (grids and k == "tuned")}
        # Runs that were stored before there was such a thing are without it.
        own["setting"] = {k: v for k, v in own["setting"].items() if k not in LATER or v != usual[k]}
        what: list[Any] = [own, asdict(recipe.fall) if recipe.fall else None, how.rounds, dict(how.setting)]
        what += [recipe.tuning, recipe.last, recipe.target] if grids else []
        text = json.dumps(what, sort_keys=True, default=asdict)
        found[trial.name] = hashlib.sha256(text.encode()).hexdigest()[:16]
    return found


def parsed(id: str, text: str) -> Recipe:
    """Parse a recipe from its text.

    Raises:
        RecipeError: the text isn't TOML, or has an invalid value.
    """
    try:
        given = parse_toml(text)
    except ValueError as error:
        raise RecipeError(f"{id}: not a valid TOML file: {error}") from error
    try:
        return _recipe(id, given)
    except RecipeError:
        raise
    except FedspecError as error:
        raise RecipeError(f"{id}: {error}") from error


def _folder() -> Any:
    return resources.files("fedspec_torch.recipes") / "known"


def _recipe(id: str, given: dict[str, Any]) -> Recipe:
    known = ("paper", "place", "claim", "remarks", "setting", "fall", "last", "target", "tuning", "trials", "checks")
    _check_keys(id, given, (*known, *SIZES), ("paper", "place", "claim", "setting", "trials", "checks", *SIZES))
    _values(id, Recipe, {k: v for k, v in given.items() if k not in ("setting", "fall", "trials", "checks", *SIZES)})
    papers = [p.name for p in PAPERS.values()]
    if given["paper"] not in papers:
        raise RecipeError(f"{id}: paper: got {given['paper']!r}; known: {', '.join(papers)}")
    setting = _setting(f"{id}: setting", Setting("digits", 1), given["setting"], ("data", "clients"))
    trials = tuple(_trials(id, given["trials"], setting))
    sizes = {name: _size(f"{id}: {name}", given[name], setting) for name in SIZES}
    called = [t.name for t in trials]
    if len({*called}) < len(called):
        raise RecipeError(
            f"{id}: trials: two have the same name, of {', '.join(called)}; give each trial its own name, which checks "
            "use"
        )
    made = Recipe(
        id=id,
        paper=given["paper"],
        place=given["place"],
        claim=given["claim"],
        setting=setting,
        trials=trials,
        checks=tuple(_checks(id, given["checks"], called)),
        sizes=sizes,
        fall=_record(f"{id}: fall", Fall, given["fall"], ("factor", "after")) if "fall" in given else None,
        last=given.get("last", 1),
        target=given.get("target", 0.0),
        tuning=given.get("tuning", "accuracy"),
        remarks=tuple(given.get("remarks", ())),
    )
    if made.tuning not in MEASURES:
        raise RecipeError(f"{id}: tuning: got {made.tuning!r}; known: {', '.join(MEASURES)}")
    return made


def _check_keys(where: str, given: Any, known: tuple[str, ...], needed: tuple[str, ...] = ()) -> None:
    """Reject a value that isn't a table, has an unknown key, or lacks a required one."""
    if not isinstance(given, dict):
        raise RecipeError(f"{where}: got {given!r}; write a table with {', '.join(needed or known)}")
    for key in given:
        if key not in known:
            raise RecipeError(f"{where}: got the key {key!r}; known: {', '.join(known)}")
    for key in needed:
        if key not in given:
            raise RecipeError(f"{where}: {key} is missing")


def _record(where: str, kind: Any, given: Any, needed: tuple[str, ...] = ()) -> Any:
    """A record from a table with its fields."""
    return kind(**_values(where, kind, given, needed))


KINDS: dict[str, Any] = {
    "int": int,
    "float": (int, float),
    "str": str,
    "bool": bool,
    "tuple": tuple,
    "Normal": dict,
    "Mapping": dict,
}
"""TOML types by the annotation of a field; TOML lists are read as tuples."""

WORDS = {"int": "a whole number", "float": "a number", "str": "a word", "bool": "true or false", "tuple": "a list"}


def _values(where: str, kind: Any, given: Any, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """A table with the fields of a record, and of their types; lists become tuples."""
    _check_keys(where, given, tuple(f.name for f in fields(kind)), needed)
    read = {k: tuple(v) if isinstance(v, list) else v for k, v in given.items()}
    for field in fields(kind):
        # Annotations are their text.
        known = [word.partition("[")[0].strip() for word in str(field.type).split("|")]
        allowed = [word for word in known if word in KINDS]
        value = read.get(field.name)
        fits = any(isinstance(value, KINDS[word]) and (word == "bool") == isinstance(value, bool) for word in allowed)
        if field.name in read and allowed and not fits:
            wanted = ", or ".join(WORDS.get(word, "a table") for word in allowed)
            raise RecipeError(f"{where}: {field.name}: got {given[field.name]!r}; give {wanted}")
    return read


def _setting(where: str, usual: Setting, given: Any, needed: tuple[str, ...] = ()) -> Setting:
    """Setting from a table, with default values for missing keys."""
    read = _values(where, Setting, given, needed)
    if isinstance(read.get("steps"), dict):
        read["steps"] = _record(f"{where}: steps", Normal, read["steps"], tuple(f.name for f in fields(Normal)))
    # The one takes the place of the other.
    beside: dict[str, Any] = {"steps": None} if "epochs" in read else {"epochs": None} if "steps" in read else {}
    if "steps" in read and "epochs" in read:
        raise RecipeError(f"{where}: steps and epochs both set the local work; leave one out")
    found = replace(usual, **{**beside, **read})
    if found.way not in (*methods(), *WAYS):
        raise RecipeError(f"{where}: way: got {found.way!r}; known: {', '.join(methods())}")
    model_of(found.data, found.model)
    if not 0 <= found.absent < found.clients or not found.eager > 0:
        raise RecipeError(
            f"{where}: got absent = {found.absent} of {found.clients} clients and eager = {found.eager}; absent must "
            f"be from 0 to {found.clients - 1}, and eager above 0"
        )
    return found


def _trials(id: str, given: Any, setting: Setting) -> Iterator[Trial]:
    if not isinstance(given, list) or not given:
        raise RecipeError(f"{id}: trials: got {given!r}; write one [[trials]] or more")
    for k, one in enumerate(given):
        where = f"{id}: trials[{k}]"
        one = _with_preset(where, one)
        _check_keys(where, one, tuple(f.name for f in fields(Trial)), ("name", "algorithm"))
        _values(where, Trial, {k: v for k, v in one.items() if k != "setting"})
        where = f"{id}: trial {one['name']}"
        row = trainer(one["algorithm"])
        own = _setting(f"{where}: setting", setting, one.get("setting", {}))
        grid = {name: tuple(values) for name, values in one.get("grid", {}).items()}
        tuned = one.get("tuned", {})
        for name in (*one.get("set", {}), *tuned, *grid):
            if name not in row.parameters:
                raise RecipeError(f"{where}: {row.id} has no {name!r}; known: {', '.join(row.parameters)}")
        if {*grid} != {*tuned}:
            raise RecipeError(f"{where}: grid has {_list(grid)}, tuned has {_list(tuned)}; give both the same names")
        for name, value in tuned.items():
            if value not in grid[name]:
                raise RecipeError(f"{where}: tuned {name} = {value} isn't in its grid {list(grid[name])}")
        yield Trial(one["name"], row.id, own, one.get("reading"), one.get("set", {}), tuned, grid)


def _with_preset(where: str, one: Any) -> Any:
    """A trial's table with the values of the preset that it names; values of the table take precedence."""
    if not isinstance(one, Mapping) or not isinstance(one.get("preset"), str) or "algorithm" not in one:
        return one
    found, algorithm = preset(one["preset"]), trainer(one["algorithm"]).id
    if algorithm not in found.set:
        raise RecipeError(f"{where}: preset {one['preset']} sets no value of {algorithm}; write set, tuned and grid")
    rest = {name: value for name, value in one.items() if name != "preset"}
    own, tried = one.get("set", {}), one.get("grid", {})
    if not isinstance(own, Mapping) or not isinstance(tried, Mapping):
        return rest
    values, _ = with_preset(one["preset"], algorithm, own, tried)
    there = {"reading": found.reading[algorithm]} if algorithm in found.reading else {}
    return there | rest | {"set": values}


def _list(names: Mapping[str, Any]) -> str:
    return ", ".join(names) or "nothing"


def _size(where: str, given: Any, setting: Setting) -> Size:
    _values(where, Size, given, ("rounds", "seeds"))
    for name in ("rounds", "seeds"):
        if given[name] < 1:
            raise RecipeError(f"{where}: {name}: got {given[name]!r}; give a whole number >= 1")
    own = given.get("setting", {})
    there = _setting(f"{where}: setting", setting, own)
    return Size(
        given["rounds"], given["seeds"], given.get("expected", ""), {name: getattr(there, name) for name in own}
    )


def _checks(id: str, given: Any, called: list[str]) -> Iterator[Check]:
    if not isinstance(given, list) or not given:
        raise RecipeError(f"{id}: checks: got {given!r}; write one [[checks]] or more, since they decide the result")
    for k, one in enumerate(given):
        where = f"{id}: checks[{k}]"
        check = _record(where, Check, one, ("measure", "relation", "because"))
        if check.measure not in MEASURES:
            raise RecipeError(f"{where}: measure: got {check.measure!r}; known: {', '.join(MEASURES)}")
        if check.relation not in RELATIONS:
            raise RecipeError(f"{where}: relation: got {check.relation!r}; known: {', '.join(RELATIONS)}")
        asked = check.along if check.relation == "falls" else (check.of, check.than)
        if check.relation == "falls" and len(asked) < 2:
            raise RecipeError(
                f"{where}: along: got {list(asked)}; name two trials or more, from the largest to the smallest "
                "expected value"
            )
        for name in asked:
            if name not in called:
                raise RecipeError(f"{where}: got the trial {name!r}; known: {', '.join(called)}")
        yield check
