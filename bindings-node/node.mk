# Targets of the Node face. Included by the top Makefile, or used alone: `make -f bindings-node/node.mk node`.

NODE_DIR := bindings-node
NODE_EXAMPLE := examples/node
NODE_TOOLS := .tools
NPM := npm --no-audit --no-fund --no-update-notifier --loglevel=error

.PHONY: node node-setup node-build node-types node-test node-example node-drift

# The package as `npm install ../bindings-node` takes it: compiled TypeScript and the addon beside it.
node: node-build

node-setup: $(NODE_TOOLS)/node

$(NODE_TOOLS)/node: $(NODE_DIR)/package.json $(NODE_DIR)/package-lock.json
	mkdir -p $(NODE_TOOLS)
	$(NODE_DIR)/scripts/check-node
	cd $(NODE_DIR) && $(NPM) ci
	touch $@

node-build: node-setup node-drift
	cargo build --quiet --workspace
	cd $(NODE_DIR) && $(NPM) run --silent build
	node $(NODE_DIR)/scripts/place-addon.mjs

# Types are written from the schemas; whoever changes a schema runs `npm run generate`.
node-drift: node-setup
	node $(NODE_DIR)/scripts/generate-types.mjs --check

# The package, its tests and the example are strict.
node-types: node-build $(NODE_EXAMPLE)/node_modules/zuno
	cd $(NODE_DIR) && npx --no-install tsc -p tests/tsconfig.json --noEmit
	cd $(NODE_DIR) && npx --no-install tsc -p ../examples/node/tsconfig.json --noEmit

node-test: node-build
	cd $(NODE_DIR) && $(NPM) run --silent test

# The demo's job in Node.
node-example: node-build $(NODE_EXAMPLE)/node_modules/zuno
	cd $(NODE_DIR) && npx --no-install tsc -p ../examples/node/tsconfig.json
	node $(NODE_EXAMPLE)/dist/review.mjs

$(NODE_EXAMPLE)/node_modules/zuno: $(NODE_EXAMPLE)/package.json | node-setup
	cd $(NODE_EXAMPLE) && $(NPM) install --offline --no-package-lock
	touch -h $@
