#!/usr/bin/env bash
# Install a wheel into a fresh environment and use it as a reader would, from an empty folder.
#
#     scripts/check_wheel.sh PYTHON WHEEL OUT
#
# PYTHON is an interpreter, OUT a folder that gets the scenes of `trace --json`, for comparison between Pythons.
set -euo pipefail
python=$1 wheel=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
constraints=$(realpath "$(dirname "$0")/../constraints.txt")

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet -c "$constraints" "$wheel"
tutor=$work/venv/bin/minisgl-tutor

fail() {
    echo "check_wheel: $*" >&2
    exit 1
}

if "$work/venv/bin/python" -c 'import torch' 2>/dev/null; then
    fail "the light install brought torch"
fi

mkdir "$work/empty"
cd "$work/empty"
"$tutor" exercises
"$tutor" trace --chapter 5 >"$work/trace.txt" || fail "trace --chapter 5 failed"
grep -q TokenizeMsg "$work/trace.txt" || fail "trace --chapter 5 shows no hop"

status=0
"$tutor" check exercise-7 || status=$?
[ "$status" = 1 ] || fail "check exercise-7 on the untouched starter should exit 1, not $status"

# Twice, under different hash seeds and time zones: nothing of the machine may show.
PYTHONHASHSEED=1 TZ=UTC "$tutor" trace --chapter 5 --json >"$out/trace.json"
PYTHONHASHSEED=2 TZ=Asia/Shanghai "$tutor" trace --chapter 5 --json | cmp - "$out/trace.json" ||
    fail "two plays of the same scenes differ"
"$tutor" trace --chapter 5 --fixed --json >"$out/fixed.json"
"$tutor" trace --chapter 5 --html "$out/trace.html" --perfetto "$out/perfetto.json"
