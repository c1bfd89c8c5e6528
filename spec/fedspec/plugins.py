"""Plugins: modules with a user's own algorithms, each of which defines a ``ROW`` as a file of ``algorithms`` does.

Named in ``FEDSPEC_PLUGINS`` (paths of files or names of modules, separated as in ``PATH``), or by an installed package
under the entry point ``fedspec.algorithms``. The command puts there what ``--plugin`` and pyproject.toml name, so that
each process that it starts knows them too. The id of a server with another local solver, such as
``fedadam-with-yogi``, may stand there as well. Beside its row a plugin may say ``STEPS``, ``MOVES``, ``MAPS``,
``EDGES`` and ``MUTANTS``, which the suite reads.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from fedspec.errors import PluginError

VARIABLE = "FEDSPEC_PLUGINS"
GROUP = "fedspec.algorithms"
BETWEEN = "-with-"
"""Separator between server id and solver id in the id of a composed row."""

ALONE = "-"
"""First name in the variable that disables plugins of installed packages."""


def named() -> tuple[str, ...]:
    """Files and modules that the environment variable lists, without duplicates."""
    return tuple(name for name in _listed() if not is_composed(name))


def composed() -> tuple[str, ...]:
    """Ids of composed rows that the environment variable lists, without duplicates."""
    return tuple(filter(is_composed, _listed()))


def is_composed(name: str) -> bool:
    """True for the id of a server with another local solver: no file of Python, no name of a module, no pattern."""
    return BETWEEN in name and not name.endswith(".py") and not {*"*?["} & {*name}


def _listed() -> tuple[str, ...]:
    names = os.environ.get(VARIABLE, "").split(os.pathsep)
    return tuple(dict.fromkeys(name for name in names if name not in ("", ALONE)))


@cache
def loaded() -> tuple[ModuleType, ...]:
    """Plugin modules of this process: first the user's modules in order, then modules of installed packages.

    Raises:
        PluginError: a plugin doesn't exist, or can't be imported.
    """
    alone = os.environ.get(VARIABLE, "").split(os.pathsep)[0] == ALONE
    installed = () if alone else entry_points(group=GROUP)
    modules = [load(name) for name in named()]
    modules += [_imported(e.value.partition(":")[0], f"entry point {e.name}") for e in installed]
    return tuple(dict.fromkeys(modules))


def said(name: str) -> Iterator[Any]:
    """Yield the values of a name in the plugins that define it."""
    return (vars(module)[name] for module in loaded() if name in vars(module))


def entries(name: str) -> dict[str, Any]:
    """Merge the tables of a name in all plugins into one dict."""
    return {key: value for table in said(name) for key, value in table.items()}


def is_own(module: str) -> bool:
    """True if the functions of a module, given by its dotted name, belong to a user's own algorithms.

    A plugin is one module, or a package with the modules beside it; its mutants edit its own functions, in any of these
    modules.
    """
    names, packages = _rooms()
    return module in names or module.startswith(packages)


@cache
def _rooms() -> tuple[frozenset[str], tuple[str, ...]]:
    """Modules of plugins, and the common prefix of the modules that belong to one package with each of them."""
    edited = [getattr(m, "function", None) for table in said("MUTANTS") for m in table]
    texts = {inspect.unwrap(f).__module__ for f in edited if callable(f)}
    names = {module.__name__ for module in loaded()} | {name for name in texts if not name.startswith("fedspec.")}
    packages = {parent for m in loaded() if m.__spec__ and (parent := m.__spec__.parent)}
    return frozenset(names), (f"{__name__}.", *sorted(f"{p}." for p in packages - {__name__}))


def where(module: ModuleType) -> str:
    """Path of a plugin's file relative to the current folder, for messages."""
    return os.path.relpath(module.__file__) if module.__file__ else module.__name__


def load(name: str) -> ModuleType:
    """Load a plugin from a file whose name ends in ``.py``, or import the module with that name.

    Raises:
        PluginError: the plugin doesn't exist, or can't be imported.
    """
    return _run(Path(name)) if name.endswith(".py") else _imported(name, name)


def blamed(error: BaseException) -> str:
    """Remedy for an unexpected error: mend the plugin's line that ran last, or report a bug of fedspec."""
    own = [*loaded(), *(m for name, m in [*sys.modules.items()] if is_own(name) and getattr(m, "__file__", None))]
    files = {module.__file__: where(module) for module in own}
    lines = [
        f"{files[f.filename]}, line {f.lineno}"
        for f in traceback.extract_tb(error.__traceback__)
        if f.filename in files
    ]
    if lines:
        return f"mend the own algorithm at {lines[-1]}"
    bug = "this is a bug of fedspec, please report it"
    return f"unless {', '.join(files.values())} says what no row can say, {bug}" if files else bug


def _imported(name: str, by: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        beside = f"; did you mean {name}.py?" if Path(f"{name}.py").is_file() else ""
        raise _refused(by, error, beside) from error


def _run(path: Path) -> ModuleType:
    """A file as a module of this package, where edits of its functions are found; the same file is run once."""
    path = path.resolve()
    if not path.is_file():
        raise PluginError(f"plugin: there is no file {path}; give the path of the algorithm's file")
    name = f"fedspec.plugins.{path.stem}"
    if (before := sys.modules.get(name)) is not None:
        if before.__file__ == str(path):
            return before
        raise PluginError(f"plugin: {path} and {before.__file__} have the same file name; rename one")
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None, path
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise _refused(str(path), error) from error
    return module


def _refused(where: str, error: BaseException, beside: str = "") -> PluginError:
    """Error for a file that does not run: the file's own last line that ran, and the original error."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename == where]
    line = f", line {frames[-1].lineno}" if frames else ""
    kind = "" if isinstance(error, PluginError) else f"{type(error).__name__}: "
    return PluginError(f"plugin: {where}{line}: {kind}{error}{beside}")
