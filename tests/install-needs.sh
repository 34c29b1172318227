#!/usr/bin/env bash
# Installs the programs and books that the tests use: on Debian and its like, as root. Elsewhere it names what is missing.
set -euo pipefail

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
ebook-convert                                             calibre-bin
php                                                       php-cli
python3                                                   python3
ps                                                        procps
setpriv                                                   util-linux
setfacl                                                   acl
debootstrap                                               debootstrap
curl                                                      curl
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
        /*) [ -e "$sign" ] || printf '%s\n' "$package" ;;
        *) PATH=$PATH:/usr/sbin:/sbin command -v "$sign" >/dev/null || printf '%s\n' "$package" ;;
        esac
    done <<<"$needs"
}

install() {
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || return
    # One after the other would be kinder to a missing package, and much slower: that is the second try.
    apt-get install -y -qq --no-install-recommends "$@" >/dev/null && return
    for package; do apt-get install -y -qq --no-install-recommends "$package" >/dev/null || true; done
}

mapfile -t packages < <(missing)
[ "${#packages[@]}" -gt 0 ] || exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    printf 'Installing %s\n' "${packages[*]}"
    install "${packages[@]}" || printf 'apt-get could not install everything\n'
    mapfile -t packages < <(missing)
fi
[ "${#packages[@]}" = 0 ] || printf 'Not installed, so tests that use them are skipped: %s\n' "${packages[*]}"
