.DEFAULT_GOAL := help
.PHONY: help demo test check quick test-python test-spark bench siege schemathesis fuzz mutants faults
.PHONY: docs release-check lock-python wasm page wheel setup clean distclean research

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## run the demo: page, aggregator and simulated users (RECORDS=file for your own records, RELAY=1 for a relay)
	scripts/demo.sh $(if $(RECORDS),--records $(RECORDS)) $(if $(RELAY),--relay)

test: ## does it work: the tests of every product, in Rust, Node, Chromium and Python
	scripts/test.sh test

check: ## may it land: lints, docs, laws, literature, other browsers, bundlers, siege, Spark (not with SKIP_SPARK=1)
	scripts/test.sh check

quick: ## run the inner ring: format, lints, the library's unit tests and vectors (a minute where all is built)
	scripts/test.sh quick

test-python: ## test the wheel
	scripts/test.sh python

test-spark: ## test the wheel in Spark 4 and 3.5, on executors in processes of their own
	scripts/test.sh spark spark3

bench: ## run the benchmarks, native and in Chromium
	scripts/setup.sh
	cargo bench
	scripts/build-wasm.sh
	node benches/browser.js
	node benches/page_start.js
	npm run --silent build:page
	node benches/page.js

siege: ## attack an aggregator with hostile connections, kills and flipped bits (a quarter of an hour)
	scripts/siege.sh

schemathesis: ## test the aggregator's interface against its OpenAPI document (needs Python)
	scripts/schemathesis.sh

fuzz: ## fuzz every decoder (SECONDS=n per target, 60 by default; needs a nightly Rust)
	scripts/fuzz.sh $(SECONDS)

mutants: ## change what differs from main (or BASE=ref) in small ways and list what no unit test notices
	scripts/mutants.sh $(BASE)

faults: ## apply known faults one by one and list the test that notices each
	scripts/setup.sh native page
	[ -e pkg/wasm ] || scripts/build-wasm.sh
	python3 scripts/faults.py

research: ## rerun the papers' tables and figures into target/research (DATA=folder of data sets, FULL=1: hours)
	cargo run --release --package ldp-pca-research -- experiment run all --out target/research --gzip \
		$(if $(DATA),--data $(DATA)) $(if $(FULL),,--quick)

docs: ## build the site of the documents, with search, rustdoc and typings, into target/site
	scripts/docs.sh

wheel: ## build the wheel of the Python package into python/dist
	scripts/setup.sh python
	scripts/build-wheel.sh

release-check: ## check that every package can be published as it is committed (RELEASING.md; a quarter of an hour)
	scripts/release-check.sh

lock-python: ## write python/requirements/*.txt, with hashes, from the .in files
	scripts/lock-python.sh

setup: ## install the tools that building and testing need
	scripts/setup.sh

wasm: ## build pkg/wasm
	scripts/setup.sh page
	scripts/build-wasm.sh

page: ## build www/dist
	scripts/setup.sh page
	scripts/build-wasm.sh
	npm run --silent build:page

clean: ## delete what was built
	cargo clean
	rm -rf pkg/wasm www/dist python/dist

distclean: clean ## delete the installed tools too
	rm -rf .tools node_modules
