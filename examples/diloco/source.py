"""Loader of other projects' code at a commit from a clone that you name: ``SOURCE=path/to/clone``, bare or not.

Nothing is checked out: files are what ``git show COMMIT:PATH`` prints.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def git(*arguments: str) -> str:
    """Run git in the clone, and return its output."""
    if (clone := os.environ.get("SOURCE")) is None:
        raise RuntimeError("SOURCE: not set; set it to the path of a clone of the repository that this file loads")
    ran = subprocess.run(["git", "-C", clone, *arguments], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise RuntimeError(f"{clone}: git {' '.join(arguments)}: {ran.stderr.strip()}")
    return ran.stdout


def dated(commit: str) -> str:
    """Return the commit and its day as a version; raise an error if the clone lacks the commit."""
    return git("log", "-1", "--format=%h of %cs", "--abbrev=7", commit).strip()


def text(commit: str, path: str) -> str:
    """Return the text of a file at a commit."""
    return git("show", f"{commit}:{path}")


def module(commit: str, path: str, name: str) -> ModuleType:
    """Run a file as a module of this name, and return the module."""
    made = ModuleType(name)
    made.__file__ = f"{path} at {commit}"
    sys.modules[name] = made
    exec(compile(text(commit, path), made.__file__, "exec"), made.__dict__)
    return made


def definitions(commit: str, path: str, *names: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return some functions and classes of a file that can't be imported, compiled unchanged."""
    return compiled(text(commit, path), f"{path} at {commit}", *names, given=given)


def compiled(code: str, where: str, *names: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return some functions and classes of a text, compiled unchanged."""
    found = [node for node in ast.walk(ast.parse(code)) if getattr(node, "name", None) in names]
    if len(found) != len(names):
        raise RuntimeError(f"{where} doesn't define each of {names} exactly once")
    out = dict(given)
    exec(compile(ast.Module(body=found, type_ignores=[]), where, "exec"), out)  # type: ignore[arg-type]
    return out


def below(commit: str, path: str, condition: str) -> Any:
    """Return the statements below ``if CONDITION:``, compiled unchanged."""
    tree = ast.parse(text(commit, path))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.If) and ast.unparse(n.test) == condition]
    if len(found) != 1:
        raise RuntimeError(f"{path} at {commit} has {len(found)} statements `if {condition}`, not one")
    return compile(ast.Module(body=found[0].body, type_ignores=[]), f"{path} at {commit}", "exec")


def absent(name: str, **things: Any) -> None:
    """Register a stand-in for a module that the code imports and doesn't need."""
    made = ModuleType(name)
    made.__dict__.update(things)
    made.__path__ = []
    sys.modules[name] = made


class Package(MetaPathFinder, Loader):
    """Importer that loads a package's modules from the clone at a commit; a folder without ``__init__.py`` works too.

    Args:
        name: name of the package.
        commit: the commit.
        folder: folder of its files in the repository.
        empty: packages whose ``__init__.py`` is not run, because it imports more than is asked for.
    """

    def __init__(self, name: str, commit: str, folder: str, empty: tuple[str, ...] = ()) -> None:
        self.name, self.commit, self.folder, self.empty = name, commit, folder, empty
        self.files = set(git("ls-tree", "-r", "--name-only", commit, folder).split())
        sys.meta_path.insert(0, self)

    def _path(self, name: str) -> tuple[str, bool] | None:
        base = "/".join([self.folder, *name.split(".")[1:]])
        if f"{base}.py" in self.files:
            return f"{base}.py", False
        if any(f.startswith(base + "/") for f in self.files):
            return f"{base}/__init__.py", True
        return None

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Find a module of the package."""
        if fullname.split(".", maxsplit=1)[0] != self.name or (found := self._path(fullname)) is None:
            return None
        return ModuleSpec(fullname, self, origin=found[0], is_package=found[1])

    def exec_module(self, module: ModuleType) -> None:
        """Run the module's file."""
        found = self._path(module.__name__)
        assert found is not None
        if module.__name__ in self.empty or found[0] not in self.files:
            return
        exec(compile(text(self.commit, found[0]), f"{found[0]} at {self.commit}", "exec"), module.__dict__)
