#!/bin/sh
# static.sh PROGRAM DIRECTORY: puts the program, without what only debuggers read, into DIRECTORY, and makes sure that
# it asks for no library at all. `make static` calls it.
set -eu

if readelf --program-headers "$1" | grep -q 'INTERP'; then
    printf 'static.sh: %s is not linked statically\n' "$1" >&2
    exit 1
fi
mkdir -p "$2"
strip -o "$2/pressroom.new" "$1"
mv "$2/pressroom.new" "$2/pressroom"
printf '%s, %s bytes\n' "$2/pressroom" "$(stat -c %s "$2/pressroom")"
