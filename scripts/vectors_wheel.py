"""Export the vectors and the default options of each reading to vectors/fedspec_vectors/v1; build the wheel in dist."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

from fedspec.catalogue import CATALOGUE
from fedspec_suite.vectors.vector import brief

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "vectors"


def lay(folder: Path) -> None:
    """Export all vectors to a folder, and write each reading's default options to readings.json."""
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([str(Path(sys.executable).with_name("fedspec")), "vectors", "export", str(folder)], check=True)
    readings = {
        id: {
            name: brief(id, {n: str(v) for n, v in row.resolve(r.name, {}).items()})
            for r in row.readings
            for name in (r.name, *r.formerly)
        }
        for id, row in CATALOGUE.items()
        if (folder / f"{id}.json").exists()
    }
    (folder / "readings.json").write_text(json.dumps(readings, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Lay the vectors where the wheel's project takes them, and build it."""
    lay(HERE / "fedspec_vectors" / "v1")
    build = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(ROOT / "dist"), str(HERE)]
    subprocess.run([sys.executable, *build], check=True)


if __name__ == "__main__":
    main()
