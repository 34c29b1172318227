#!/bin/sh
# Runs a test program so that it tells each test's time.
exec env RUSTC_BOOTSTRAP=1 "$@" -Z unstable-options --report-time
