#!/usr/bin/env bash
# Installs the built wheels of a folder into an empty environment, away from the source tree, and
# proves three things: the specification needs its base dependencies and nothing
# else, the [suite] extra is enough for the command line, and the commands of fedspec-proofs and
# fedspec-torch come with their wheels and are missed in one line without them.
#
#   usage: scripts/wheel_smoke.sh PYTHON FOLDER [CONSTRAINTS]
#
# CONSTRAINTS is a file of pins in the place of constraints.txt, an empty
# one for the newest of everything.
set -euo pipefail

die() {
  echo "wheel smoke: FAILED: $*" >&2
  exit 1
}
say() { echo "wheel smoke: $*"; }

[ $# -eq 2 ] || [ $# -eq 3 ] || die "usage: $0 PYTHON FOLDER [CONSTRAINTS]"
root=$(cd "$(dirname "$0")/.." && pwd)
python=$(command -v "$1") || die "no such python: $1"
folder=$(realpath "$2")
wheel=$(echo "$folder"/fedspec-*.whl) torch=$(echo "$folder"/fedspec_torch-*.whl)
proofs=$(echo "$folder"/fedspec_proofs-*.whl)
for file in "$wheel" "$torch" "$proofs"; do [ -f "$file" ] || die "not one such wheel: $file"; done
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
OURS = ("fedspec", "fedspec_properties", "fedspec_suite")
for package in OURS:
    check((site / package / "__init__.py").is_file(), f"the wheel lacks {package}")
    check((site / package / "py.typed").is_file(), f"the wheel lacks {package}/py.typed")
others = sorted(path.name for path in site.glob("fedspec_*") if path.name.partition("-")[0] not in OURS)
check(not others, f"the wheel brings {others}")

# What a subject needs beside its code: the wheel must hold what the source tree holds.
source = root / "judge" / "fedspec_suite"
check((site / "fedspec_properties" / "invariants.toml").is_file(), "the wheel lacks fedspec_properties/invariants.toml")
data = [
    p.relative_to(source)
    for pattern in ("subjects/*/requirements*.txt", "**/*.json")
    for p in source.glob(pattern)
]
for path in data:
    check((site / "fedspec_suite" / path).is_file(), f"the wheel lacks fedspec_suite/{path}")

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
# missed COMMAND... TEXT: the command ends with 2 and with one line that holds the text.
missed() {
  local text=${*: -1} code=0
  "$venv/bin/fedspec" "${@:1:$#-1}" </dev/null >"$away/missed.txt" 2>&1 || code=$?
  [ "$code" -eq 2 ] && [ "$(wc -l <"$away/missed.txt")" -eq 1 ] && grep -qF "$text" "$away/missed.txt" ||
    { cat "$away/missed.txt" >&2; die "fedspec ${*:1:$#-1} ends with $code and says not what to do"; }
}
missed simulate fedavg "pip install './impl[simulate]'"
missed claims "pip install './proofs_check[solvers]'"
missed worst-case fedavg "pip install './proofs_check[certify]'"
missed show fedavg --mirror "pip install './impl'"

say "install fedspec-proofs"
"${install[@]}" "$proofs"
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
# lacking PACKAGE SOURCE: dies if a file of the package that git has is not in the environment.
lacking() {
  local name
  while read -r name; do
    [ -f "$site/$1/$name" ] || die "the wheel lacks $1/$name"
  done < <(cd "$root/$2/$1" && find . -type f -not -path '*/__pycache__/*')
}
lacking fedspec_proofs proofs_check
"$venv/bin/fedspec" claims show fednova.theorem-1 </dev/null >"$away/claims.txt" 2>&1 ||
  { cat "$away/claims.txt" >&2; die "fedspec claims show without a solver"; }
missed claims run fednova.theorem-1 "pip install './proofs_check[solvers]'"
"${install[@]}" "${proofs}[solvers]"
"$venv/bin/fedspec" claims run fednova.general-rule fednova.limit-error-less --jobs 1 </dev/null >"$away/claims.txt" 2>&1 ||
  { cat "$away/claims.txt" >&2; die "fedspec claims run"; }

say "install fedspec-torch, without the hundreds of megabytes of torch"
"${install[@]}" --no-deps "$torch"
for package in fedspec_torch fedspec_train fedspec_use; do lacking "$package" impl; done
"$venv/bin/fedspec" simulate --help </dev/null >"$away/help.txt" 2>&1 ||
  { cat "$away/help.txt" >&2; die "fedspec simulate --help"; }
missed simulate fedavg "simulate needs"
missed show fedavg --mirror "show: --mirror needs"
say "passed"
