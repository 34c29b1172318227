#!/bin/sh
# The libraries that the program holds and their licences, as they ask to be named in what is made of them.
# Each text stands once, below the names of all libraries that come with it.
set -eu
cd "$(dirname "$0")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

printf 'Pressroom holds these libraries.\n\n'
cargo tree --locked --offline --edges normal --prefix none --format '{p}|{l}' | sort -u |
    sed -n -e '/^pressroom /d' -e 's/^\([^ ]*\) v\([^ |]*\)[^|]*|\(.*\)/\1 \2 \3/p' >"$work/all"
while read -r name version licence; do
    printf '%s %s: %s\n' "$name" "$version" "$licence"
    for text in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$name-$version"/LICEN[CS]E* \
        "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/"$name-$version"/COPYING*; do
        [ -f "$text" ] || continue
        sum=$(cksum <"$text" | tr ' ' '-')
        cp "$text" "$work/$sum.text"
        printf '%s %s\n' "$name" "$version" >>"$work/$sum.names"
    done
done <"$work/all"
for text in "$work"/*.text; do
    printf '\n%s\n%s\n\n' '------------------------------------------------------------------------------' \
        "$(paste -s -d , "${text%.text}.names" | sed 's/,/, /g')"
    cat "$text"
done
