#!/bin/sh
# deb.sh PROGRAM DIRECTORY [VERSION]: makes DIRECTORY/pressroom_VERSION_ARCHITECTURE.deb of a program that is built
# already. The completions must be in COMPLETIONS (default target/completions). `make deb` calls it; the tests save time
# with COMPRESSION=none.
set -eu
umask 022
cd "$(dirname "$0")/.."

program=$1
directory=$2
version=${3:-$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)}
completions=${COMPLETIONS:-target/completions}
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 755 "$root"
doc=$root/usr/share/doc/pressroom

make --no-print-directory -s install-files BINARY="$program" COMPLETIONS="$completions" PREFIX=/usr DESTDIR="$root"
gzip -9n "$root"/usr/share/man/man*/*
mv "$doc/CHANGELOG.md" "$doc/changelog"
packaging/third-party.sh >"$doc/THIRD-PARTY"
gzip -9n "$doc/changelog" "$doc/THIRD-PARTY"
install -m 644 packaging/debian/copyright "$doc"

install -d "$root/etc/pressroom" "$root/etc/cron.d" "$root/usr/lib/systemd/system"
install -m 644 packaging/pressroom.toml "$root/etc/pressroom/pressroom.toml"
install -m 644 packaging/cron.d "$root/etc/cron.d/pressroom"
install -m 644 packaging/systemd/pressroom.service packaging/systemd/pressroom.timer "$root/usr/lib/systemd/system"

# A program that was linked statically needs nothing of the machine but a kernel.
libc=''
if ldd "$program" 2>/dev/null | grep -q 'libc\.so'; then libc=', libc6'; fi
size=$(du -sk "$root" | cut -f 1)

install -d "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" -e "s/@SIZE@/$size/" -e "s/@LIBC@/$libc/" \
    packaging/debian/control >"$root/DEBIAN/control"
install -m 644 packaging/debian/conffiles "$root/DEBIAN"
install -m 755 packaging/debian/postinst packaging/debian/prerm packaging/debian/postrm "$root/DEBIAN"
(cd "$root" && find usr etc -type f -exec md5sum {} +) >"$root/DEBIAN/md5sums"

mkdir -p "$directory"
dpkg-deb --root-owner-group "-Z${COMPRESSION:-xz}" --build "$root" "$directory/pressroom_${version}_$architecture.deb" >/dev/null
printf '%s\n' "$directory/pressroom_${version}_$architecture.deb"
