# Pressroom. `make help` lists what can be made.

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
INSTALL ?= install

bindir = $(DESTDIR)$(PREFIX)/bin
libexecdir = $(DESTDIR)$(PREFIX)/libexec/pressroom
mandir = $(DESTDIR)$(PREFIX)/share/man
docdir = $(DESTDIR)$(PREFIX)/share/doc/pressroom

# The program is linked statically and at a fixed address: it starts in half the time, and it runs wherever there is a
# kernel. A target is named, although it is the machine's own, so that these flags leave the compiler's plug-ins alone.
TARGET ?= $(shell rustc -vV | sed -n 's/^host: //p')
STATIC = -C target-feature=+crt-static -C relocation-model=static
TARGET_DIR = $(or $(CARGO_TARGET_DIR),target)
BINARY ?= $(TARGET_DIR)/$(TARGET)/release/pressroom
# What the ready exporters consist of: programs and the two files that they read.
EXPORTERS = bin/export-pandoc bin/export-calibre bin/export-thumbnail
EXPORTER_PARTS = bin/exporter.sh bin/export-pandoc.lua
PAGES1 = $(wildcard docs/man/*.1)
PAGES5 = $(wildcard docs/man/*.5)

.DEFAULT_GOAL := help
.PHONY: help build demo check test bench install uninstall

help: ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 12

build: ## the program, optimised, as `make install` takes it
	RUSTFLAGS='$(RUSTFLAGS) $(STATIC)' $(CARGO) build --release --locked --target $(TARGET)

demo: ## make a book through the queue, in target/demo
	@demo/run

check: ## format, lints, shell scripts, man pages, licences
	@tests/check.sh

test: ## build and run all tests, and name those that were skipped
	@tests/run.sh

bench: build ## measure against floors and peers, into docs/benchmarks; BENCH=quick takes two minutes
	@RUSTFLAGS='$(RUSTFLAGS) $(STATIC)' bench/run "$(BINARY)" $(CARGO) build --release --locked --target $(TARGET)

install: build ## into $(DESTDIR)$(PREFIX)
	$(INSTALL) -d "$(bindir)" "$(libexecdir)" "$(mandir)/man1" "$(mandir)/man5" "$(docdir)"
	$(INSTALL) -m 755 $(BINARY) "$(bindir)/pressroom"
	$(INSTALL) -m 755 $(EXPORTERS) "$(libexecdir)"
	$(INSTALL) -m 644 $(EXPORTER_PARTS) "$(libexecdir)"
	$(INSTALL) -m 644 $(PAGES1) "$(mandir)/man1"
	$(INSTALL) -m 644 $(PAGES5) "$(mandir)/man5"
	$(INSTALL) -m 644 README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE crontab.example docs/*.md "$(docdir)"

uninstall: ## what `make install` put there; state and configuration stay
	rm -f "$(bindir)/pressroom" $(addprefix "$(mandir)/man1"/,$(notdir $(PAGES1))) $(addprefix "$(mandir)/man5"/,$(notdir $(PAGES5)))
	rm -rf "$(libexecdir)" "$(docdir)"
