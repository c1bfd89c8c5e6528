"""The reference of the Python that readers call: Sphinx makes it from docstrings."""

from __future__ import annotations

from fedspec_site.writing import Source

MODULES = (
    "fedspec.contract",
    "fedspec.serve",
    "fedspec_suite.api",
    "fedspec_suite.own",
    "fedspec.entry",
    "fedspec.arith",
    "fedspec_use.torch",
)
"""Modules that the pages of docs link to. fedspec_use.optax and .flower need packages that dev does not bring."""


def write(source: Source) -> None:
    """Write the page."""
    source.page("reference/python", "python", modules=MODULES)
