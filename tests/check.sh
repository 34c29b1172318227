#!/usr/bin/env bash
# `make check`: everything that can be found without running the program. A tool that is not installed is named.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '== %s\n' "$1"; }
has() { command -v "$1" >/dev/null || { printf 'SKIPPED: %s: %s is not installed\n' "$2" "$1" && return 1; }; }

step format
cargo fmt --check

step clippy
cargo clippy --all-targets --locked -- -D warnings

step 'shell scripts'
if has shellcheck 'shell scripts'; then
    # Every file that says it is one, so that a new script is not forgotten.
    git grep -lIE '^#!/(bin/sh|usr/bin/env bash|bin/bash)|^# shellcheck shell=' -- ':!*.md' ':!*.rs' | xargs shellcheck -x
fi

step 'man pages'
if has mandoc 'man pages'; then
    mandoc -T lint -W warning docs/man/*.[15]
fi

step 'documentation'
tests/links.sh

step 'licences and advisories'
if has cargo-deny 'licences and advisories'; then
    cargo deny --locked check licenses bans sources
    # The list of advisories comes over the network, which a build machine may not have.
    if cargo deny --locked fetch db >/dev/null 2>&1; then
        cargo deny --locked check --disable-fetch advisories
    else
        printf 'SKIPPED: advisories: their list cannot be fetched\n'
    fi
fi
