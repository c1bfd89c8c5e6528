#!/usr/bin/env bash
# Installs a built wheel into an empty environment, away from the source tree, and
# proves two things: the specification needs its base dependencies and nothing
# else, and the [suite] extra is enough for the command line.
#
#   usage: scripts/wheel_smoke.sh PYTHON WHEEL [CONSTRAINTS]
#
# CONSTRAINTS is a file of pins in the place of constraints.txt, an empty
# one for the newest of everything.
set -euo pipefail

die() {
  echo "wheel smoke: FAILED: $*" >&2
  exit 1
}
say() { echo "wheel smoke: $*"; }

[ $# -eq 2 ] || [ $# -eq 3 ] || die "usage: $0 PYTHON WHEEL [CONSTRAINTS] (exactly one wheel)"
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "$1") || die "no such python: $1"
wheel=$(realpath "$2")
[ -f "$wheel" ] || die "no such wheel: $2"
constraints=$(realpath "${3:-$root/constraints.txt}")
[ -r "$constraints" ] || die "no such file of pins: $constraints"

unset PYTHONPATH PYTHONHOME PYTHONSTARTUP
venv=$root/build/wheel-venv
rm -rf "$venv"
mkdir -p "$root/build"
"$python" -m venv "$venv"
away=$(mktemp -d)
trap 'rm -rf "$away"' EXIT
install=("$venv/bin/python" -m pip install -qq --disable-pip-version-check
  -c "$constraints")

say "base install"
"${install[@]}" "$wheel"
cd "$away"
"$venv/bin/python" -I - "$root" "$venv" <<'PY' || die "the base install is not sound"
import importlib
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

root, venv = (Path(p).resolve() for p in sys.argv[1:])


def check(ok: bool, message: str) -> None:
    if not ok:
        sys.exit(f"wheel smoke: {message}")


foreign = {
    "beartype", "hypothesis", "jax", "pytest", "rich", "scipy", "sympy", "torch", "typer", "z3",
}
spec = importlib.import_module("fedspec")
where = Path(spec.__file__).resolve()
check(where.is_relative_to(venv), f"fedspec was imported from {where}, not from the wheel")
loaded = foreign & set(sys.modules)
check(not loaded, f"import fedspec imported {sorted(loaded)}")
others = {"fedspec_proofs", "fedspec_suite", "fedspec_torch"} & set(sys.modules)
check(not others, f"import fedspec imported {sorted(others)}")

# Every module of the specification, with nothing but the base dependencies there.
present = {name for name in foreign if importlib.util.find_spec(name) is not None}
check(not present, f"the base install brought in {sorted(present)}")
modules = sorted(
    ".".join(p.relative_to(where.parent.parent).with_suffix("").parts)
    for p in where.parent.rglob("*.py")
    if p.name != "__main__.py"
)
for name in modules:
    importlib.import_module(name.removesuffix(".__init__"))

site = where.parent.parent
for package in ("fedspec", "fedspec_proofs", "fedspec_suite", "fedspec_torch"):
    check((site / package / "__init__.py").is_file(), f"the wheel lacks {package}")
    check((site / package / "py.typed").is_file(), f"the wheel lacks {package}/py.typed")

# What a subject needs beside its code: the wheel must hold what the source tree holds.
source = root / "judge" / "fedspec_suite"
data = [
    p.relative_to(source)
    for pattern in ("subjects/*/requirements*.txt", "**/*.json")
    for p in source.glob(pattern)
]
for path in data:
    check((site / "fedspec_suite" / path).is_file(), f"the wheel lacks fedspec_suite/{path}")
ledger = root / "proofs_check" / "fedspec_proofs"
for path in (*ledger.glob("*/statements.toml"), *ledger.rglob("*.json")):
    name = path.relative_to(ledger)
    check((site / "fedspec_proofs" / name).is_file(), f"the wheel lacks fedspec_proofs/{name}")

version = importlib.metadata.version("fedspec")
check(getattr(spec, "__version__", version) == version, "fedspec.__version__ is not the wheel's")
print(f"wheel smoke: fedspec {version}: {len(modules)} modules, {len(data)} data files, base only")
PY

if "$venv/bin/fedspec" list </dev/null >"$away/bare.txt" 2>&1; then die "fedspec without its extra"; fi
grep -q "pip install '\.\[suite\]'" "$away/bare.txt" ||
  { cat "$away/bare.txt" >&2; die "fedspec without its extra says not what to do"; }

say "install with [suite]"
"${install[@]}" "${wheel}[suite]"
"$venv/bin/python" -m pip check --disable-pip-version-check >/dev/null || die "pip check"
# Now that they are there, the specification must still leave them alone.
"$venv/bin/python" -I - <<'PY' || die "import fedspec is not light"
import sys

import fedspec

heavy = {"fedspec_suite", "hypothesis", "rich", "typer"} & set(sys.modules)
sys.exit(f"wheel smoke: import fedspec imported {sorted(heavy)}" if heavy else 0)
PY
"$venv/bin/fedspec" --help </dev/null >"$away/help.txt" 2>&1 ||
  { cat "$away/help.txt" >&2; die "fedspec --help"; }
[ -s "$away/help.txt" ] || die "fedspec --help printed nothing"
"$venv/bin/fedspec" list </dev/null >"$away/list.txt" 2>&1 ||
  { cat "$away/list.txt" >&2; die "fedspec list"; }
[ -s "$away/list.txt" ] || die "fedspec list printed nothing"
"$venv/bin/fedspec" vectors check spec --only sgd </dev/null >"$away/vectors.txt" 2>&1 ||
  { cat "$away/vectors.txt" >&2; die "fedspec vectors check"; }
if "$venv/bin/fedspec" claims </dev/null >"$away/claims.txt" 2>&1; then die "fedspec claims without its extra"; fi
grep -q "pip install" "$away/claims.txt" || { cat "$away/claims.txt" >&2; die "fedspec claims says not what to do"; }

say "install with [proofs]"
"${install[@]}" "${wheel}[proofs]"
"$venv/bin/fedspec" claims run fednova.general-rule fednova.limit-error-less --jobs 1 </dev/null >"$away/claims.txt" 2>&1 ||
  { cat "$away/claims.txt" >&2; die "fedspec claims run"; }
say "passed"
