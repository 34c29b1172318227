#!/usr/bin/env bash
# Installs what Pressroom is compared with: on Debian and its like, as root. Elsewhere it names what is missing.
# PEERS=pueue asks for pueue as well, which is built into $1 and takes minutes.
set -euo pipefail

# A program that shows that a package is there, and the package.
needs='
tsp        task-spooler
nq         nq
at         at
parallel   parallel
php        php-cli
setpriv    util-linux
nginx      nginx
fcgiwrap   fcgiwrap
apache2    apache2-bin
lighttpd   lighttpd
ab         apache2-utils
'
PATH=$PATH:/usr/sbin:/sbin

missing() {
    while read -r program package; do
        [ -z "$program" ] || command -v "$program" >/dev/null || printf '%s\n' "$package"
    done <<<"$needs"
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || return
    for package; do apt-get install -y -qq --no-install-recommends "$package" >/dev/null || true; done
}

mapfile -t packages < <(missing)
if [ "${#packages[@]}" -gt 0 ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    printf 'Installing %s\n' "${packages[*]}" >&2
    install "${packages[@]}" || printf 'apt-get could not install everything\n' >&2
    mapfile -t packages < <(missing)
fi
[ "${#packages[@]}" = 0 ] || printf 'Not installed, so not compared with: %s\n' "${packages[*]}" >&2

case ${PEERS:-} in
*pueue*) [ -x "$1/bin/pueued" ] || cargo install --locked --root "$1" pueue ;;
esac
