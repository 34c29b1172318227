#!/bin/sh
# The life of the package, inside a clean Debian system that has cron and nothing else of use: old.deb is installed,
# configured and used, new.deb replaces it, and it is removed and purged. Ends with the line that failed.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin

phase() { printf '== %s\n' "$1"; }
fail() { printf 'FAILED: %s\n' "$1" && exit 1; }
# is WORD WORD: the first is what was found.
is() { [ "$1" = "$2" ] || fail "found '$1', not '$2'"; }
as() { user=$1 && shift && setpriv --reuid "$user" --regid "$user" --init-groups --reset-env "$@"; }
# answers STATUS WORD...: the exit status of the command.
answers() {
    expected=$1 && shift
    status=0
    "$@" >/tmp/answer 2>&1 || status=$?
    [ "$status" = "$expected" ] || fail "$* ended with $status, not $expected: $(cat /tmp/answer)"
}
# until TEST...: two minutes at most, so that cron has its turn.
wait_until() {
    tries=0
    until "$@" >/dev/null 2>&1; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "waited in vain for: $*; $(as pressroom pressroom status; ls -l /var/lib/pressroom)"
        sleep 0.2
    done
}
book() { as www-data pressroom request book "title=$1"; }
# What the package's owner would see left behind.
traces() { find / -xdev \( -path /proc -o -path /sys -o -path /package \) -prune -o -name '*pressroom*' -print; }

mkdir -p /srv/books
before=$(traces)
is "$before" ''

phase install
dpkg --install /package/old.deb
getent passwd pressroom >/dev/null || fail 'there is no user pressroom'
getent group pressroom >/dev/null || fail 'there is no group pressroom'
is "$(stat -c '%a %U %G' /var/lib/pressroom)" '2750 pressroom pressroom'
is "$(stat -c '%a %U %G' /var/lib/pressroom/queue)" '2770 pressroom pressroom'
is "$(stat -c '%a %U %G' /var/lib/pressroom/queue/pressroom.db)" '660 pressroom pressroom'
for file in man/man1/pressroom.1.gz man/man1/pressroom-tick.1.gz man/man5/pressroom.toml.5.gz \
    bash-completion/completions/pressroom zsh/site-functions/_pressroom fish/vendor_completions.d/pressroom.fish \
    doc/pressroom/copyright doc/pressroom/changelog.gz doc/pressroom/THIRD-PARTY.gz; do
    [ -s "/usr/share/$file" ] || fail "no /usr/share/$file"
done
bash -c '. /usr/share/bash-completion/completions/pressroom && complete -p pressroom' >/dev/null
[ -x /usr/libexec/pressroom/export-pandoc ] || fail 'no ready exporters'
for program in pressroom.cgi status.cgi; do
    [ -x "/usr/libexec/pressroom/$program" ] || fail "no $program"
done
is "$(grep -cv '^#' /usr/lib/systemd/system/pressroom.timer)" "$(grep -cv '^#' /package/pressroom.timer)"
! grep -q '/usr/local' /usr/share/doc/pressroom/README.md || fail 'the documentation names /usr/local'
is "$(grep -c '^[^#].*tick' /etc/cron.d/pressroom || true)" 0
answers 0 as pressroom pressroom check
answers 2 as pressroom pressroom status # nobody has ticked yet
grep -q '/etc/cron.d/pressroom' /tmp/answer || fail 'the alarm does not name the crontab of the package'

phase run
cat >>/etc/pressroom/pressroom.toml <<'TOML'
[exporter.book]
command = ["/bin/sh", "-c", 'while [ -e /srv/books/wait ]; do sleep 0.1; done; echo "$1" >"$2"', "sh", "{title}", "{output}"]
filename = "{title}.txt"
kill_after = "1s"
[exporter.book.params.title]
required = true
TOML
answers 0 as pressroom pressroom check
adduser --quiet www-data pressroom
answers 75 book first
is "$(cat /tmp/answer)" 'queued 1'
sed -i 's/^#\(\* .*--for 60s\)$/\1/' /etc/cron.d/pressroom
cron
wait_until book first
is "$(as www-data cat /var/lib/pressroom/cache/book/first.txt)" first
wait_until as pressroom pressroom status # the round that has started it is over
answers 0 as pressroom pressroom status

phase upgrade
touch /srv/books/wait
answers 75 book second
started() { as pressroom pressroom jobs list --status started --format json | grep -q "$1"; }
wait_until started second
dpkg --install /package/new.deb
is "$(dpkg-query --show --showformat '${Version}' pressroom)" "$NEW"
grep -q '^\[exporter.book\]' /etc/pressroom/pressroom.toml || fail 'the configuration is not as it was'
grep -q '^\* .*--for 60s$' /etc/cron.d/pressroom || fail 'the crontab is not as it was'
started second || fail 'the upgrade has ended a running export'
rm /srv/books/wait
wait_until book second
answers 0 book first
answers 0 as pressroom pressroom check

phase remove
touch /srv/books/wait
answers 75 book third
wait_until started third
dpkg --remove pressroom
[ ! -e /usr/bin/pressroom ] || fail 'the program is still there'
is "$(find /proc -maxdepth 1 -user pressroom)" ''
[ -s /var/lib/pressroom/cache/book/first.txt ] || fail 'a removal has deleted the cache'
rm /srv/books/wait
dpkg --install /package/new.deb
wait_until book third # it went back into the queue, and the crontab is still the chosen one

phase purge
dpkg --purge pressroom
is "$(traces)" ''
! getent passwd pressroom || fail 'the user is still there'
! getent group pressroom || fail 'the group is still there'
is "$(find / -xdev -path /proc -prune -o \( -nouser -o -nogroup \) -print)" ''
# As docs/installing.md has it, with a copy of the program in place of `make install`.
phase 'from make install'
adduser --quiet --system --group pressroom
adduser --quiet pressroom www-data
install -m 755 /package/pressroom /usr/local/bin/pressroom
mkdir /etc/pressroom
cat >/etc/pressroom/pressroom.toml <<'TOML'
state_dir = "/var/lib/pressroom"
[exporter.book]
command = ["/bin/sh", "-c", 'echo "$1" >"$2"', "sh", "{title}", "{output}"]
filename = "{title}.txt"
[exporter.book.params.title]
TOML
/usr/local/bin/pressroom check --create --user pressroom --group www-data >/dev/null
answers 75 book kept
rm /usr/local/bin/pressroom
dpkg --force-confold --install /package/new.deb
grep -q '^\[exporter.book\]' /etc/pressroom/pressroom.toml || fail 'the configuration is not as it was'
is "$(stat -c '%U %G' /var/lib/pressroom)" 'pressroom www-data'
is "$(cat /tmp/answer)" 'queued 1'
answers 0 as pressroom pressroom tick --wait
answers 0 book kept

phase 'and back'
dpkg --remove pressroom
rm /etc/cron.d/pressroom
install -m 755 /package/pressroom /usr/local/bin/pressroom
answers 0 as pressroom pressroom check
answers 0 book kept
answers 75 book new
answers 0 as pressroom pressroom tick --wait
answers 0 book new
printf "== done\n"
