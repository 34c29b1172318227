#!/usr/bin/env bash
# Every local link of the documentation leads to a file that is in the repository.
set -euo pipefail
cd "$(dirname "$0")/.."

broken=0
while IFS=: read -r file link; do
    target=${link#\](}
    target=${target%)}
    target=${target%%#*}
    case $target in '' | http*) continue ;; esac
    [ -e "$(dirname "$file")/$target" ] || { printf '%s: no such file: %s\n' "$file" "$target" && broken=1; }
done < <(grep -oHE '\]\([^) ]+\)' README.md CHANGELOG.md docs/*.md)
exit "$broken"
