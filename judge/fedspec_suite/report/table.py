"""The tables that people read."""

from __future__ import annotations

from rich import box
from rich.table import Table


def plain(*columns: str) -> Table:
    """A table with a head and no frame."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for column in columns:
        table.add_column(column, overflow="fold", no_wrap=column == "mutant")
    return table
