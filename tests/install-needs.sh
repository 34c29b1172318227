#!/usr/bin/env bash
# Installs the programs and books that the tests use: on Debian and its like, as root. Elsewhere it names what is missing.
set -euo pipefail
cd "$(dirname "$0")/.."

# The pages are judged by axe-core from npm, the answers by httplint from PyPI; both go below target/.
needs_of_others() {
    if command -v npm >/dev/null && [ ! -d target/needs/node_modules/axe-core ]; then
        npm install --silent --no-fund --no-audit --prefix target/needs axe-core >/dev/null 2>&1 ||
            printf 'Not installed, so tests that use it are skipped: axe-core\n'
    fi
    if command -v python3 >/dev/null && [ ! -x target/needs/venv/bin/httplint ]; then
        { python3 -m venv target/needs/venv && target/needs/venv/bin/pip install --quiet httplint; } >/dev/null 2>&1 ||
            printf 'Not installed, so tests that use it are skipped: httplint\n'
    fi
}

# A program or file that shows that a package is there, and the package.
needs='
pandoc                                                    pandoc
java                                                      default-jre-headless
/usr/share/java/epubcheck.jar                             epubcheck
cron                                                      cron
shellcheck                                                shellcheck
mandoc                                                    mandoc
identify                                                  imagemagick
pdftoppm                                                  poppler-utils
tesseract                                                 tesseract-ocr
ebook-convert                                             calibre
php                                                       php-cli
/etc/php/*/fpm/pool.d/www.conf                            php-fpm
python3                                                   python3
ps                                                        procps
setpriv                                                   util-linux
setfacl                                                   acl
strace                                                    strace
mkfs.ext4                                                 e2fsprogs
mkfs.btrfs                                                btrfs-progs
debootstrap                                               debootstrap
curl                                                      curl
wget                                                      wget
nginx                                                     nginx-light
fcgiwrap                                                  fcgiwrap
apache2                                                   apache2
/usr/lib/apache2/modules/mod_xsendfile.so                 libapache2-mod-xsendfile
lighttpd                                                  lighttpd
busybox                                                   busybox
chromium                                                  chromium
chromedriver                                              chromium-driver
/usr/share/fonts/truetype/dejavu                          fonts-dejavu-core
/usr/share/fonts/truetype/noto                            fonts-noto-core
/usr/share/fonts/opentype/noto                            fonts-noto-cjk
tesseract                                                 tesseract-ocr
debootstrap                                               debootstrap
sqlite3                                                   sqlite3
promtool                                                  prometheus
/usr/share/doc/debian-handbook/html/fr-FR/foreword.html   debian-handbook
/usr/share/developers-reference/scope.html                developers-reference
/usr/share/doc/anarchism/html/secA1.html                  anarchism
/usr/lib/bible.data                                       bible-kjv-text
bible                                                     bible-kjv
'

missing() {
    while read -r sign package; do
        case $sign in
        '') ;;
        /*) compgen -G "$sign" >/dev/null || printf '%s\n' "$package" ;;
        *) PATH=$PATH:/usr/sbin:/sbin command -v "$sign" >/dev/null || printf '%s\n' "$package" ;;
        esac
    done <<<"$needs"
}

# The servers are for the tests, which start their own on loopback: installing them must not start any.
no_services() {
    [ ! -e /usr/sbin/policy-rc.d ] || return 0
    printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
    chmod 755 /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    no_services
    apt-get update -qq || return
    # One after the other would be kinder to a missing package, and much slower: that is the second try.
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null && return
    for package; do apt-get install -y -qq --no-install-recommends "$package" >/dev/null || true; done
}

needs_of_others
mapfile -t packages < <(missing)
[ "${#packages[@]}" -gt 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    printf 'Installing %s\n' "${packages[*]}"
    install "${packages[@]}" || printf 'apt-get could not install everything\n'
    mapfile -t packages < <(missing)
fi
[ "${#packages[@]}" = 0 ] || printf 'Not installed, so tests that use them are skipped: %s\n' "${packages[*]}"
