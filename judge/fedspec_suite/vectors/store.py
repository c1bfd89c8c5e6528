"""Vectors on disk: one file for each algorithm and an index with their digests; reading validates everything."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from fedspec.errors import ContractError, FedspecError
from fedspec.parsing import TooDeep, parse_json
from fedspec.schema import check, said
from fedspec_suite.vectors.vector import VERSION, Vector, line

FOLDER = Path(__file__).with_name(f"v{VERSION}")
"""Folder of the vectors of this format version."""

INDEX = "index.json"

LARGEST = 4_000_000
"""Largest size in bytes of all files together."""

DIGITS = 400
"""Most digits of an integer; Python's own limit is a few thousand."""

REMEDY = "take the files of the release again, or make them: fedspec vectors make"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*\.json")


@dataclass(frozen=True)
class AlgorithmVectors:
    """Vectors of one algorithm, with the defects that they distinguish.

    Attributes:
        algorithm: its id.
        defects: defects that its vectors tell from the rule, by id: words and equation.
        vectors: in their order.
    """

    algorithm: str
    defects: Mapping[str, Mapping[str, str]]
    vectors: tuple[Vector, ...]


def constant(stored: AlgorithmVectors) -> AlgorithmVectors:
    """Keep only the vectors without events that change a hyper-parameter."""
    vectors = tuple(v for v in stored.vectors if not any("hyper" in event for event in v["events"]))
    shown = {name for v in vectors for found in v["kills"].values() for name in found}
    return AlgorithmVectors(
        stored.algorithm, {name: said for name, said in stored.defects.items() if name in shown}, vectors
    )


def text(stored: AlgorithmVectors) -> str:
    """Return the text of a vector file: JSON, one vector per line."""
    head = {"version": VERSION, "algorithm": stored.algorithm, "defects": dict(sorted(stored.defects.items()))}
    rows = ",\n".join(map(line, stored.vectors))
    return f'{line(head)[:-1]},"vectors":[\n{rows}\n]}}\n'


def index(files: Mapping[str, str]) -> str:
    """Return the text of the index: digest, size and number of vectors of each file."""
    rows = {
        name: {
            "sha256": hashlib.sha256(body.encode()).hexdigest(),
            "bytes": len(body.encode()),
            "vectors": len(json.loads(body)["vectors"]),
        }
        for name, body in sorted(files.items())
    }
    return json.dumps({"version": VERSION, "files": rows}, indent=1) + "\n"


def digest(body: bytes) -> str:
    """Return the SHA-256 in hexadecimal digits."""
    return hashlib.sha256(body).hexdigest()


def decoded(body: bytes, where: str) -> dict[str, Any]:
    """Parse a JSON object strictly: no duplicate names and no numbers outside of JSON.

    Raises:
        FedspecError: it is truncated, no JSON, nested too deeply, says a name twice, or holds a number that is none.
    """

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(found)
        if len(out) != len(found):
            twice = next(n for n, _ in found if [m for m, _ in found].count(n) > 1)
            raise FedspecError(f"{where}: has {twice[:60]!r} twice in one object; {REMEDY}")
        return out

    def constant(word: str) -> Any:
        raise FedspecError(f"{where}: holds {word}, which is no JSON; {REMEDY}")

    def number(word: str) -> float:
        if math.isinf(found := float(word)):
            raise FedspecError(f"{where}: holds {word[:20]}, which is beyond every floating-point type; {REMEDY}")
        return found

    def whole(word: str) -> int:
        if len(word) > DIGITS:
            raise FedspecError(f"{where}: holds a whole number of {len(word)} digits; {REMEDY}")
        return int(word)

    try:
        value = parse_json(body, object_pairs_hook=pairs, parse_constant=constant, parse_float=number, parse_int=whole)
    except FedspecError:
        raise
    except TooDeep as error:
        raise FedspecError(f"{where}: {error}; {REMEDY}") from error
    except ValueError as error:
        why = " ".join(str(error).split())[:120]
        raise FedspecError(f"{where}: is truncated or no JSON in UTF-8 ({why}); {REMEDY}") from error
    if not isinstance(value, dict):
        raise FedspecError(f"{where}: is no JSON object; {REMEDY}")
    return value


def read(path: Path, schema: str) -> tuple[dict[str, Any], bytes]:
    """Read a vector file or an index and validate it against its schema.

    Raises:
        FedspecError: it cannot be read, is too large, of another version, or not what its schema says.
    """
    where = f"vectors: {path}"
    try:
        with path.open("rb") as file:
            # The size that the system tells is not asked: that of a device or a pipe is zero.
            body = file.read(LARGEST + 1)
    except OSError as error:
        raise FedspecError(f"{where}: cannot be read ({error.strerror}); {REMEDY}") from error
    if len(body) > LARGEST:
        raise FedspecError(f"{where}: is larger than {LARGEST} bytes, the limit of all vectors together; {REMEDY}")
    value = decoded(body, where)
    if value.get("version") != VERSION:
        of = f"is of version {said(value['version'])}" if "version" in value else "does not say its version"
        raise FedspecError(f"{where}: {of}; this fedspec reads version {VERSION}; take that release's")
    try:
        check(value, schema, where)
    except ContractError as error:
        raise FedspecError(f"{error}; {REMEDY}") from error
    return value, body


def indexed(folder: Path) -> dict[str, dict[str, Any]]:
    """Read the index of a folder: the entries of its files, by name.

    Raises:
        FedspecError: it cannot be read, or names what is no file of vectors.
    """
    value, _ = read(folder / INDEX, "vector_index")
    files: dict[str, dict[str, Any]] = value["files"]
    if not files:
        raise FedspecError(f"vectors: {folder / INDEX}: names no files; {REMEDY}")
    for name in files:
        if not _NAME.fullmatch(name) or name == INDEX:
            raise FedspecError(f"vectors: {folder / INDEX}: names {name[:60]!r}, no file of vectors; {REMEDY}")
    if sum(f["bytes"] for f in files.values()) > LARGEST:
        raise FedspecError(f"vectors: {folder / INDEX}: all files are larger than {LARGEST} bytes; {REMEDY}")
    return files


def load(folder: Path = FOLDER, algorithms: Iterable[str] | None = None) -> Iterator[AlgorithmVectors]:
    """Yield the vectors of some algorithms, or of all in the index.

    Raises:
        FedspecError: a file is missing, truncated, of another version, edited, or not what its schema says.
    """
    files = indexed(folder)
    wanted = [*files] if algorithms is None else [f"{name}.json" for name in algorithms]
    for name in wanted:
        if name not in files:
            raise FedspecError(f"vectors: {folder / INDEX}: names no {name}; {REMEDY}")
        yield _one(folder / name, *(files[name][what] for what in ("sha256", "bytes", "vectors")))


@cache
def _one(path: Path, sha256: str, size: int, count: int) -> AlgorithmVectors:
    value, body = read(path, "vector_file")
    if (found := digest(body)) != sha256:
        raise FedspecError(
            f"vectors: {path}: was changed: its sha256 begins with {found[:12]}, the index says {sha256[:12]}; {REMEDY}"
        )
    if f"{value['algorithm']}.json" != path.name:
        raise FedspecError(f"vectors: {path}: is about {value['algorithm']!r}, unlike its name; {REMEDY}")
    if (len(body), len(value["vectors"])) != (size, count):
        raise FedspecError(
            f"vectors: {path.parent / INDEX}: says {size} bytes and {count} vectors of {path.name}, which has "
            f"{len(body)} and {len(value['vectors'])}; {REMEDY}"
        )
    return AlgorithmVectors(value["algorithm"], value["defects"], tuple(value["vectors"]))
