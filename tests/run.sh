#!/usr/bin/env bash
# `make test`: installs what the tests use where that is possible, runs them all, and closes with what was skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

tests/install-needs.sh
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
cargo build --locked
# Each test's time is one of the options that the test harness keeps back from stable compilers.
timed='target."cfg(all())".runner = "tests/timed.sh"'
cargo test --config "$timed" --locked --no-fail-fast "$@" 2>&1 | tee "$log" || status=$?

printf '\nThe slowest tests:\n'
sed -n 's/^test \(.*\) \.\.\. ok <\([0-9.]*\)s>$/\2 s  \1/p' "$log" | sort -rn | awk 'NR <= 10'

# A test that cannot run says `SKIPPED: name: reason` and passes.
printf '\n'
if grep -ohE 'SKIPPED: .*' "$log" | sort -u >"$log.skipped"; [ -s "$log.skipped" ]; then
    printf 'Skipped, wholly or in part:\n'
    sed 's/^SKIPPED: /  /' "$log.skipped"
else
    printf 'Nothing was skipped.\n'
fi
rm -f "$log.skipped"
exit "$status"
