# Pressroom. `make help` lists what can be made.

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
INSTALL ?= install
TORTURE ?= 600

bindir = $(DESTDIR)$(PREFIX)/bin
libexecdir = $(DESTDIR)$(PREFIX)/libexec/pressroom
mandir = $(DESTDIR)$(PREFIX)/share/man
docdir = $(DESTDIR)$(PREFIX)/share/doc/pressroom
bashdir = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
zshdir = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
fishdir = $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d

# The program is linked statically and at a fixed address: it starts in half the time, and it runs wherever there is a
# kernel. A target is named, although it is the machine's own, so that these flags leave the compiler's plug-ins alone.
TARGET ?= $(shell rustc -vV 2>/dev/null | sed -n 's/^host: //p')
STATIC = -C target-feature=+crt-static -C relocation-model=static
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
# Who installs need not have rustc; then what was built is looked for.
BINARY ?= $(if $(TARGET),$(TARGET_DIR)/$(TARGET)/release/pressroom,$(wildcard $(TARGET_DIR)/*/release/pressroom))
COMPLETIONS ?= $(TARGET_DIR)/completions
PACKAGES ?= $(TARGET_DIR)

# What the ready exporters consist of: programs and the two files that they read. In place of the CGI scripts links are
# installed, which spare each request a shell.
SCRIPTS = $(wildcard bin/*.cgi)
EXPORTERS = bin/export-pandoc bin/export-calibre bin/export-thumbnail
EXPORTER_PARTS = bin/exporter.sh bin/export-pandoc.lua
PAGES1 = $(wildcard docs/man/*.1)
PAGES5 = $(wildcard docs/man/*.5)
TEXTS = README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE crontab.example
# Everything below docs that is not a manual page lies there as it does here, so that the texts' links hold.
GUIDES = $(shell find docs -type f ! -path 'docs/man/*' ! -perm -u+x)
GUIDE_PROGRAMS = $(shell find docs -type f ! -path 'docs/man/*' -perm -u+x)

.DEFAULT_GOAL := help
.PHONY: help build program static completions demo picture check test crashes torture bench deb install install-files uninstall

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 14

build: program completions ## the program, optimised, and completions, as `make install` takes them

program:
	RUSTFLAGS='$(RUSTFLAGS) $(STATIC)' $(CARGO) build --release --locked --target $(TARGET)

static: program ## one file for a shared host, in target/static
	@packaging/static.sh "$(BINARY)" "$(TARGET_DIR)/static"

completions: ## for bash, zsh and fish, in target/completions
	@$(CARGO) run --quiet --locked --example completions -- "$(COMPLETIONS)"

deb: program completions ## a Debian package, in target
	@COMPLETIONS="$(COMPLETIONS)" packaging/deb.sh "$(BINARY)" "$(PACKAGES)"

demo: program ## make a book through the queue; it says where
	@demo/run "$(BINARY)"

picture: program ## take the picture of the README from the demo, with Chromium
	@demo/picture "$(BINARY)"

check: ## format, lints, shell scripts, man pages, licences
	@tests/check.sh

test: ## build and run all tests, and name those that were skipped
	@tests/run.sh

# Those that stop, pause or kill the program at a named point.
CRASHES = after:: dry:: full_disk:: handover:: hostile::files in_force:: invariants:: kills:: late:: lock_removed:: \
    many_rows:: moments:: overseen:: races:: recovery:: restore:: rogue_output:: runbook:: stops:: ticks:: unended::

crashes: ## the crash tests once more, on the program as it is installed
	$(CARGO) test --release --locked --features failpoints --test it -- $(CRASHES)

torture: ## random kills, then random operations of every kind, for ten minutes each or TORTURE=seconds
	PRESSROOM_TORTURE=$(TORTURE) $(CARGO) test --locked --test it torture:: -- --nocapture
	PRESSROOM_RANDOM=$(TORTURE) $(CARGO) test --locked --test it random:: -- --nocapture

bench: program ## measure against floors and peers, into docs/benchmarks; BENCH=quick takes two minutes
	@RUSTFLAGS='$(RUSTFLAGS) $(STATIC)' bench/run "$(BINARY)" $(CARGO) build --release --locked --target $(TARGET)

install: ## what `make build` made, into $(DESTDIR)$(PREFIX); needs no cargo
	@[ -n "$(BINARY)" ] && [ -f "$(word 1,$(BINARY))" ] && [ -f "$(COMPLETIONS)/pressroom.bash" ] || \
	    { echo 'Nothing is built yet, or not all: run `make build` first.' >&2; exit 1; }
	@[ "$(words $(BINARY))" = 1 ] || { echo 'Several programs are built: name one by BINARY=FILE: $(BINARY)' >&2; exit 1; }
	@$(MAKE) --no-print-directory install-files BINARY="$(BINARY)"

install-files: # of what is built already
	$(INSTALL) -d "$(bindir)" "$(libexecdir)" "$(mandir)/man1" "$(mandir)/man5" "$(docdir)/bin"
	$(INSTALL) -d "$(bashdir)" "$(zshdir)" "$(fishdir)"
	$(INSTALL) -m 755 "$(BINARY)" "$(bindir)/pressroom"
	$(INSTALL) -m 755 $(EXPORTERS) "$(libexecdir)"
	$(INSTALL) -m 644 $(EXPORTER_PARTS) "$(libexecdir)"
	for script in $(notdir $(SCRIPTS)); do ln -sf ../../bin/pressroom "$(libexecdir)/$$script"; done
	$(INSTALL) -m 755 $(SCRIPTS) "$(docdir)/bin"
	$(INSTALL) -m 644 $(PAGES1) "$(mandir)/man1"
	$(INSTALL) -m 644 $(PAGES5) "$(mandir)/man5"
	$(INSTALL) -m 644 $(TEXTS) "$(docdir)"
	rm -rf "$(docdir)/examples"
	for file in $(GUIDES); do $(INSTALL) -D -m 644 "$$file" "$(docdir)/$$file" || exit 1; done
	for file in $(GUIDE_PROGRAMS); do $(INSTALL) -D -m 755 "$$file" "$(docdir)/$$file" || exit 1; done
	ln -sfn docs/examples "$(docdir)/examples"
	$(INSTALL) -m 644 "$(COMPLETIONS)/pressroom.bash" "$(bashdir)/pressroom"
	$(INSTALL) -m 644 "$(COMPLETIONS)/_pressroom" "$(zshdir)/_pressroom"
	$(INSTALL) -m 644 "$(COMPLETIONS)/pressroom.fish" "$(fishdir)/pressroom.fish"
	find "$(docdir)" "$(mandir)/man1" "$(mandir)/man5" -type f \( -path '*/doc/*' -o -name 'pressroom*' \) ! -name '*.png' \
	    -exec sed -i -e 's|/usr/local/bin:/usr/bin|$(PREFIX)/bin:/usr/bin|; s|^PATH=/usr/bin:/usr/bin:|PATH=/usr/bin:|' \
	    -e '/usr.local.sbin/!s|/usr/local/|$(PREFIX)/|g' {} +

uninstall: ## what `make install` put there; state and configuration stay
	rm -f "$(bindir)/pressroom" $(addprefix "$(mandir)/man1"/,$(notdir $(PAGES1))) $(addprefix "$(mandir)/man5"/,$(notdir $(PAGES5)))
	rm -f "$(bashdir)/pressroom" "$(zshdir)/_pressroom" "$(fishdir)/pressroom.fish"
	rm -rf "$(libexecdir)" "$(docdir)"
