"""The scripts that find worst cases, as modules, and the page that they write."""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "worst-cases.md").read_text(encoding="utf-8")


def script(name: str = "worst_cases") -> Any:
    """A file of scripts; they are in no package."""
    spec = spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
