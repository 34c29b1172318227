#!/bin/sh
# deb.sh PROGRAM DIRECTORY [VERSION]: makes DIRECTORY/pressroom_VERSION_ARCHITECTURE.deb of a program that is built
# already. The completions must be in COMPLETIONS (default target/completions). DEBFULLNAME and DEBEMAIL name whoever
# makes the package. `make deb` calls it; the tests save time with COMPRESSION=none.
set -eu
umask 022
cd "$(dirname "$0")/.."

program=$1
directory=$2
version=${3:-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)}
completions=${COMPLETIONS:-target/completions}
maintainer="${DEBFULLNAME:-The Pressroom contributors} <${DEBEMAIL:-pressroom@example.org}>"
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
doc=$root/usr/share/doc/pressroom

make --no-print-directory -s install-files BINARY="$program" COMPLETIONS="$completions" PREFIX=/usr DESTDIR="$root"
gzip -9n "$root"/usr/share/man/man*/*
packaging/third-party.sh >"$doc/THIRD-PARTY"
cat >"$doc/changelog" <<CHANGES
pressroom ($version) unstable; urgency=medium

  * What users notice of this version is in CHANGELOG.md beside this file.

 -- $maintainer  $(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(stat -c %Y CHANGELOG.md)}")
CHANGES
gzip -9n "$doc/changelog" "$doc/THIRD-PARTY"
install -m 644 packaging/debian/copyright "$doc"
if command -v strip >/dev/null; then strip "$root/usr/bin/pressroom"; fi

install -d "$root/etc/pressroom" "$root/etc/cron.d" "$root/usr/lib/systemd/system"
install -m 644 packaging/pressroom.toml "$root/etc/pressroom/pressroom.toml"
install -m 644 packaging/cron.d "$root/etc/cron.d/pressroom"
install -m 644 packaging/systemd/pressroom.service packaging/systemd/pressroom.timer "$root/usr/lib/systemd/system"

# A program that was linked statically needs nothing of the machine but a kernel.
libc=''
if ldd "$program" 2>/dev/null | grep -q 'libc\.so'; then
    libc=', libc6'
else
    install -d "$root/usr/share/lintian/overrides"
    install -m 644 packaging/debian/lintian-overrides "$root/usr/share/lintian/overrides/pressroom"
fi
size=$(du -sk "$root" | cut -f 1)

install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@LIBC@/$libc/" \
    -e "s/@MAINTAINER@/$maintainer/" \
    packaging/debian/control >"$root/DEBIAN/control"
install -m 644 packaging/debian/conffiles "$root/DEBIAN"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN"
(cd "$root" && find usr etc -type f -exec md5sum {} +) >"$root/DEBIAN/md5sums"

mkdir -p "$directory"
dpkg-deb --root-owner-group "-Z${COMPRESSION:-xz}" --build "$root" "$directory/pressroom_${version}_$architecture.deb" >/dev/null
printf '%s\n' "$directory/pressroom_${version}_$architecture.deb"
