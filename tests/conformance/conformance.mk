# The same scenarios through every face. Included by the top Makefile.

CONFORMANCE := $(ROOT)/tests/conformance

.PHONY: conformance

conformance: build node-build
	cargo build --quiet --package zuno --example conformance
	ONLY=$(ONLY) $(PY) $(CONFORMANCE)/check.py $(ROOT)/target/conformance \
		"python=$(PY) $(CONFORMANCE)/drivers/python/driver.py" \
		"node=node $(CONFORMANCE)/drivers/node/driver.mjs" \
		"rust=$(ROOT)/target/debug/examples/conformance"
