"""Write the site's source: ``python -m fedspec_site FOLDER``, where FOLDER doesn't exist yet."""

from __future__ import annotations

import sys
from pathlib import Path

from fedspec_site import algorithms, command, documents, home, ledger, packages, schemas, tables, train
from fedspec_site.writing import Source


def main(folder: str) -> int:
    source = Source(Path(folder))
    for part in (home, packages, algorithms, ledger, train, command, schemas, tables, documents):
        part.write(source)
    source.page("reference/python", "python")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(*sys.argv[1:]))
