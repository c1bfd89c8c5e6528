"""Have Coq's kernel check the worst-case tables, the ledger's certificates and the refuted theorems: ``make kernel``.

Where there is no coqc, ``--install`` fetches it by apt-get.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from fedspec_proofs import ledger
from fedspec_proofs.fednova.claims import best_coefficients, round_numbers
from fedspec_proofs.kernel import certificates, planted, rows, weighed
from fedspec_proofs.kernel.refuted import THEOREMS
from fedspec_proofs.kernel.running import checked, compiled, compiler, say_time, spent

ROOT = Path(__file__).resolve().parents[1]
COQ, PAGE, OUT = ROOT / "proofs_check/coq", ROOT / "docs/worst-cases.md", ROOT / "out/kernel"

HOW = """error: there is no coqc. As root on Debian or Ubuntu `apt-get install coq`, which `make kernel` does itself;
elsewhere any Coq from 8.16 on, from the system's packages or opam; or say where it is:
COQC=/path/to/coqc make kernel"""


def installed() -> bool:
    """True if coqc is found; with --install, install it by apt-get first."""
    if compiler():
        return True
    if "--install" in sys.argv and shutil.which("apt-get") and os.geteuid() == 0:
        print("installing coq by apt-get (140 MB)", flush=True)
        subprocess.run(["apt-get", "update", "-qq"], check=False)
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        line = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "coq"]
        subprocess.run(line, env=environment, stdout=subprocess.DEVNULL, check=False)
    return bool(compiler())


def say(line: str) -> None:
    """Print a progress line, and flush."""
    print(line, flush=True)


def main() -> int:
    """Write the Coq files, compile them, and print what the kernel accepted."""
    if not installed():
        print(HOW, file=sys.stderr)
        return 1
    ledger.claims()
    shutil.rmtree(OUT, ignore_errors=True)
    page = PAGE.read_text(encoding="utf-8")
    stored, of_servers = round_numbers.TABLE.rows(), best_coefficients.TABLE.rows()
    data = {
        "Tables": rows.coq_text(page, stored),
        "Weighed": weighed.coq_text(page, of_servers),
        "Certified": certificates.coq_text(),
    }
    before = spent()
    found = checked(COQ, OUT, data, (*THEOREMS, *weighed.OWN), say)
    (OUT / "Planted.v").write_text(planted.coq_text(page, stored, of_servers), encoding="utf-8")
    with say_time("rows that are planted", say):
        compiled("Planted", OUT)
    of_rounds, of_weights = rows.cells(page), weighed.weights(page)
    lower = sum(c.least is not None for c in of_weights)
    print(f"Coq's kernel accepts {found.theorems} theorems ({spent() - before:.0f} s of processor):")
    uppers = len(of_rounds) + len(of_weights)
    print(f"  {uppers} numbers of docs/worst-cases.md, and of each that its rule runs as the specification's does")
    print(f"  {lower} numbers of it that no other coefficients of a server are below")
    print(f"  {len(data['Certified'][1])} certificates of the ledger, {len(THEOREMS)} refuted theorems")
    print(f"they rest on {', '.join(sorted(found.axioms))}, the reals of Coq's library, and on nothing else")
    print(f"{len(planted.spoiled(page, stored, of_servers))} planted rows, false or without their proof, are refused")
    return 0


if __name__ == "__main__":
    sys.exit(main())
