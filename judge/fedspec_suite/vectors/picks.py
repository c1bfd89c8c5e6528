"""Which candidates are vectors, by row: kept on disk, so that a new mutant or a better judge moves no vector."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from fedspec.errors import FedspecError

PATH = Path(__file__).with_name("picks.json")


def load() -> dict[str, list[int]]:
    """The numbers of the candidates that were chosen, by the name of the row.

    Raises:
        FedspecError: the file is none of this kind.
    """
    try:
        body = json.loads(PATH.read_text(encoding="utf-8"))
        return {str(name): [int(n) for n in numbers] for name, numbers in body.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FedspecError(f"vectors: {PATH} cannot be read ({error}); take it from the release again") from error


def save(picks: Mapping[str, list[int]]) -> None:
    """Write the file, a row a line.

    Raises:
        FedspecError: it cannot be written.
    """
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in sorted(picks.items()))
    try:
        PATH.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise FedspecError(f"vectors: cannot write {PATH} ({error.strerror}); run from a source tree") from error
