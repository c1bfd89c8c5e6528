"""Clients' examples from local files: LEAF's JSON, and CSV tables with a column that names the client."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedspec.parsing import parse_json
from fedspec_torch.refusals import DataError


def read_leaf(path: str | Path, encode: Callable[[Any, Any], Any] = lambda x, y: (x, y)) -> dict[str, Any]:
    """Read LEAF's JSON: inputs and targets of each user, for ``Federation(..., data=[*found.values()])``.

    Args:
        path: a file, or a folder whose .json files are all read.
        encode: function that returns numbers for x and y of an example; needed if the file has words, as in
            Shakespeare.

    Raises:
        DataError: a file isn't in LEAF's format, or a user's examples aren't numbers of one shape.
    """
    found: dict[str, Any] = {}
    for file in sorted(Path(path).glob("*.json")) if Path(path).is_dir() else [Path(path)]:
        try:
            whole = parse_json(file.read_bytes())
            own = {user: whole["user_data"][user] for user in whole["users"]}
            pairs = {user: [encode(*xy) for xy in zip(part["x"], part["y"], strict=True)] for user, part in own.items()}
        except (ValueError, KeyError, TypeError) as error:
            form = "users, and user_data with x and y of each, equally many"
            raise DataError(f"{file}: not a file of LEAF data ({error!r}); it must contain {form}") from error
        if both := found.keys() & pairs.keys():
            raise DataError(
                f"{file}: user {min(both)!r} is in another file too; read the folders of training and test data "
                "separately"
            )
        for user, some in pairs.items():
            found[user] = tuple(_tensor(f"{file}: user {user!r}", part) for part in zip(*some, strict=True))
    return found


def read_table(path: str | Path, client: str, target: str) -> dict[str, Any]:
    """Read a CSV table: for each client name, the target and the other columns in float32.

    Raises:
        DataError: the table has no such column, rows differ in their number of columns, or an entry isn't a number.
    """
    with Path(path).open(encoding="utf-8", newline="") as file:
        names, rows = next(lines := csv.reader(file), []), [line for line in lines if line]
    if not {client, target} < {*names} or {*map(len, rows)} != {len(names)}:
        raise DataError(
            f"{path}: got columns {client!r} and {target!r}; name two different columns of {', '.join(names)}, and "
            "fill each row"
        )
    groups: dict[str, list[list[str]]] = {}
    for row in rows:
        groups.setdefault(row[names.index(client)], []).append(row)
    found = {}
    for who, some in groups.items():
        parts, where = dict(zip(names, zip(*some, strict=True), strict=True)), f"{path}: client {who!r}"
        inputs = [_tensor(f"{where}: {n}", parts[n], float) for n in names if n not in (client, target)]
        found[who] = torch.stack(inputs, 1), _tensor(f"{where}: {target}", parts[target], int, float)
    return found


def _tensor(where: str, entries: Any, *kinds: Callable[[Any], Any]) -> Tensor:
    """Tensor of entries, as the first of these kinds that all of them are."""
    for kind in kinds or (lambda entry: entry,):
        try:
            return torch.tensor([kind(entry) for entry in entries])
        except (TypeError, ValueError) as error:
            why = error
    raise DataError(
        f"{where} aren't numbers of one shape ({why}); convert them to numbers, for example words by read_leaf's encode"
    )
