#!/usr/bin/env bash
# Every local link of the documentation leads to a file that is there: in the repository, and in what is installed of it.
set -euo pipefail
cd "$(dirname "$0")/.."

broken=0
# check DIRECTORY [IGNORED]: of the texts below it; links into IGNORED may lead nowhere.
check() {
    local file link target
    while IFS=: read -r file link; do
        target=${link#\](}
        target=${target%)}
        target=${target%%#*}
        case $target in '' | http* | ${2:-http}*) continue ;; esac
        [ -e "$(dirname "$file")/$target" ] || { printf '%s: no such file: %s\n' "$file" "$target" && broken=1; }
    done < <(grep -oHE '\]\([^) ]+\)' "$1"/*.md "$1"/docs/*.md "$1"/docs/benchmarks/*.md)
}

check .

# An installation of everything but the program, which need not be built for this.
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
touch "$installed"/{program,pressroom.bash,_pressroom,pressroom.fish}
make --no-print-directory -s install-files BINARY="$installed/program" COMPLETIONS="$installed" PREFIX=/usr \
    DESTDIR="$installed"
doc=$installed/usr/share/doc/pressroom
check "$doc" ../src/
for example in docs/examples/*; do
    [ -e "$doc/examples/${example##*/}" ] || { printf 'not installed: %s\n' "$example" && broken=1; }
done
exit "$broken"
