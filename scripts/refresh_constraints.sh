#!/usr/bin/env bash
# Resolves the newest versions of what the three distributions and dev, site and browser need in a scratch environment
# and rewrites constraints.txt below its header comment, then action.lock with the same versions, by hash.
#
#   usage: scripts/refresh_constraints.sh PYTHON TORCH_PIN
set -euo pipefail

[ $# -eq 2 ] || { echo "usage: $0 PYTHON TORCH_PIN" >&2; exit 1; }
cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

"$1" -m venv "$scratch/venv"
"$scratch/venv/bin/python" -m pip install -qq --disable-pip-version-check "$2" -e '.[dev,site,browser]' \
  -e './impl[simulate]' -e './proofs_check[certify,privacy,solvers]'
{
  sed '/^[^#]/,$d' constraints.txt
  # A local build tag (torch's +cpu) is no part of the pin: it is not the same everywhere.
  # GPU libraries, where torch brought some, are torch's own business.
  "$scratch/venv/bin/python" -m pip freeze --exclude-editable |
    sed -E 's/\+[A-Za-z0-9.]+$//' | grep -Ev '^(nvidia|cuda|triton)'
} >"$scratch/constraints.txt"
if grep -nE '://|@' <(grep -v '^#' "$scratch/constraints.txt"); then
  echo "error: the resolution names a location; constraints.txt is left as it was" >&2
  exit 1
fi
mv "$scratch/constraints.txt" constraints.txt
echo hatchling >"$scratch/build.in"
{
  sed '/^[^#]/,$d' action.lock
  "$scratch/venv/bin/uv" pip compile --quiet --universal --generate-hashes --python-version 3.11 --no-header \
    --no-annotate --constraints constraints.txt --extra suite pyproject.toml "$scratch/build.in"
} >"$scratch/action.lock"
mv "$scratch/action.lock" action.lock
