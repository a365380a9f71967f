# The C face. Included by the top Makefile; uses its ROOT and its target `setup`.
#
#   make c-build     builds the library and stages it below target/c
#   make c-test      compiles and runs the tests and the example
#   make c-install   PREFIX=/usr/local DESTDIR= : the library, the header, the pkg-config file

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
DESTDIR ?=

ROOT ?= $(CURDIR)
# `dev` is what the tests use; an installed library is optimised.
C_PROFILE ?= release
C_STAGE := $(ROOT)/target/c/stage

.PHONY: c-build c-test c-install c-uninstall c-bless c-example

c-build:
	cargo build --quiet --workspace
	ffi/install $(ROOT)/target/debug/libzuno.so $(C_STAGE) $(C_STAGE)/lib $(C_STAGE)/include ""

c-test: c-build
	tests/c/run $(C_STAGE)

c-example: c-build
	tests/c/run $(C_STAGE) example

# Writes the header and the list of exported names anew.
c-bless:
	ZUNO_BLESS=1 cargo test --quiet --package zuno-ffi --test header

c-install:
	cargo build --quiet --package zuno-ffi --profile $(C_PROFILE)
	ffi/install $(ROOT)/target/$(if $(filter dev,$(C_PROFILE)),debug,$(C_PROFILE))/libzuno.so \
		"$(PREFIX)" "$(LIBDIR)" "$(INCLUDEDIR)" "$(DESTDIR)"

c-uninstall:
	rm -f "$(DESTDIR)$(LIBDIR)"/libzuno.so* "$(DESTDIR)$(LIBDIR)/pkgconfig/zuno.pc" "$(DESTDIR)$(INCLUDEDIR)/zuno.h"
