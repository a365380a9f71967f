# `make bench`: our calls and their rivals, alternated in one run. Included by the top Makefile, or used alone:
# `make -f benches/bench.mk bench`. Prints ratios next to their goals and never fails because of them.

.PHONY: bench

# ROWS="1 9" runs some rows only; ROUNDS=9 runs longer.
bench: ## Measure the calls next to their rivals
	python3 benches/run.py $(if $(ROUNDS),--rounds $(ROUNDS)) $(ROWS)
