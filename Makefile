# make help lists what there is. Everything is built below target/.
.DELETE_ON_ERROR:
.PHONY: help build install dist check-dist demo test test-rust test-recorder test-remedies test-e2e lint lint-text bench bench-attach bench-remedies fuzz-remedies casestudies viewer test-viewer bench-report bench-growth bench-passes bench-viewer bench-live bench-fleet check-allocators check-counts check-lost-blocks check-resident check-costs check-unwind screenshots stories predictions clean

BUILD_NEEDS = g++ binutils make libboost-dev
TEST_NEEDS = $(BUILD_NEEDS) mandoc bash zsh fish cmake ninja-build libgtest-dev gcc binutils util-linux mount musl-tools \
	libc6-dbg libjemalloc2 libjemalloc-dev libtcmalloc-minimal4 libgoogle-perftools-dev libmimalloc2.0 g++-mingw-w64-x86-64-posix wine64 libfmt-dev catch2 libsimdjson-dev clang debuginfod clickhouse-server golang-go heaptrack xz-utils valgrind chromium python3 python3-venv git openjdk-17-jdk-headless
LINT_NEEDS = $(BUILD_NEEDS) clang libgtest-dev
COST_NEEDS = $(BUILD_NEEDS) linux-perf strace libc6-dbg python3 perl git sqlite3 redis-server redis-tools jq
RESIDENT_NEEDS = $(BUILD_NEEDS) git jq python3 sqlite3 redis-server redis-tools ripgrep openjdk-17-jdk-headless
CHECK_NEEDS = $(BUILD_NEEDS) valgrind jq sqlite3 perl git cmake ripgrep python3
CASE_NEEDS = $(BUILD_NEEDS) libsimdjson-dev python3-pip libjemalloc2 libtcmalloc-minimal4 libmimalloc2.0
ALLOCATOR_NEEDS = $(BUILD_NEEDS) cmake python3
BENCH_ATTACH_NEEDS = g++ python3 redis-server redis-tools nginx-light
REMEDY_BENCH_NEEDS = g++ cmake ninja-build libbenchmark-dev libboost-dev libfmt-dev libjemalloc2 libmimalloc2.0
FLEET_BENCH_NEEDS = $(BUILD_NEEDS) clickhouse-server python3 git perl sqlite3 redis-server redis-tools
FUZZ_NEEDS = g++ clang libclang-rt-14-dev
BENCH_NEEDS = $(BUILD_NEEDS) heaptrack jq git python3 libjemalloc-dev

MEMTOLL = target/release/memtoll
PREFIX = /usr/local
OUT = target/demo

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## build the command-line tool: target/release/memtoll
	@tools/need $(BUILD_NEEDS)
	tools/build target/release

# After `make build`, `sudo make install` installs that and needs no cargo of root's own.
install: ## install memtoll, manual pages and completions below PREFIX, /usr/local
	@if [ -z "$${SUDO_USER:-}" ] || [ ! -e $(MEMTOLL) ]; then $(MAKE) --no-print-directory build; fi
	@tools/install target/release "$(PREFIX)" "$(DESTDIR)"

dist: ## make the release packages in target/dist: a .deb, a tarball, debug files; for glibc 2.17 and later
	@tools/dist target/dist

check-dist: ## install the packages of make dist on Debian 11, and record there (as root)
	@tools/check-dist target/dist

demo: build ## record a case study and git on this repository, and show both reports
	@tools/demo $(MEMTOLL) $(OUT)

test: test-rust test-recorder test-remedies test-e2e test-viewer ## run every test: Rust, C++, end to end, the viewer
	@echo "all tests passed"

# Tests select the whole workspace each time: with another selection, cargo picks other features and builds everything again.
# Continuous integration has CARGO="cargo --config .ci/strict.toml".
CARGO = cargo
TEST = $(CARGO) --config "target.'cfg(all())'.runner = '$(CURDIR)/tools/timed-test'" test --workspace --no-fail-fast
BUILD_TESTED = $(CARGO) build --workspace --bin memtoll --test e2e

test-rust: ## unit tests of the Rust crates, and the examples in their documentation
	@tools/need $(TEST_NEEDS)
	$(TEST) --exclude memtoll-e2e

test-recorder: ## unit tests of the C++ recorder
	@tools/need $(TEST_NEEDS)
	cmake -G Ninja -S recorder -B target/recorder
	ninja -C target/recorder
	target/recorder/recorder_tests --gtest_brief=1

test-remedies: ## tests of the remedies: plain, under sanitizers, and for Windows under Wine
	@tools/need $(TEST_NEEDS)
	@tools/test-remedies target/remedies

# What reads exports: engines for SQL and published definitions of formats, in a Python environment of their own. A package of
# npm brings the schema of speedscope; nothing of it runs.
SPEEDSCOPE := 1.25.0
target/readers/ready: tests/e2e/readers/requirements.txt Makefile
	@tools/need python3 python3-venv
	@tools/need-node
	python3 -m venv --clear target/readers
	target/readers/bin/pip install --quiet --disable-pip-version-check --only-binary :all: --requirement $<
	npm pack --silent --pack-destination target/readers speedscope@$(SPEEDSCOPE)
	tar -xzf target/readers/speedscope-$(SPEEDSCOPE).tgz -C target/readers package/dist/release/file-format-schema.json
	touch $@

# A quarter of the time, tests wait: for sleeps, servers and files.
test-e2e: target/readers/ready ## tiny and real programs under the real recorder, with exact counts
	@tools/need $(TEST_NEEDS)
	@tools/need-node
	$(BUILD_TESTED)
	$(TEST) --test e2e -- --test-threads $$(($$(nproc) + 1)) $(if $(filter 0,$(shell id -u)),--include-ignored)

viewer/node_modules: viewer/package-lock.json
	@tools/need-node
	npm --prefix viewer ci --no-fund --no-audit
	touch $@

viewer: viewer/node_modules ## build the viewer's front end into crates/view/bundle.json.gz, which is committed
	npm --prefix viewer run check
	npm --prefix viewer run build

test-viewer: viewer/node_modules ## the viewer: its units, in a browser on real recordings, and that the committed bundle is what the sources give
	@tools/need $(TEST_NEEDS)
	npm --prefix viewer run check
	npm --prefix viewer run unit
	npm --prefix viewer run compare
	$(BUILD_TESTED)
	npm --prefix viewer run browser

bench-attach: build ## attach to programs under load and kill memtoll, again and again: do they notice? how long do they stand still? (ROUNDS=200)
	@tools/need $(BENCH_ATTACH_NEEDS)
	tools/attach-rounds.py $(MEMTOLL) --rounds $(or $(ROUNDS),200)

lint: lint-text ## formatting, clippy, the C++ of the recorder with a second compiler, shell scripts
	cargo clippy --workspace --all-targets -- --deny warnings

lint-text: # all of lint that needs no Rust compiler
	@tools/need $(LINT_NEEDS)
	cargo fmt --all --check
	tools/lint-recorder
	tools/lint-processor
	for file in $(filter-out %.txt %.py,$(wildcard tools/*)) casestudies/dictionary/fetch; do sh -n "$$file" || exit 1; done
	bash -n .ci/run

bench: build ## measure the cost of recording, side by side with heaptrack (BEFORE=FILE: and with another memtoll)
	@tools/need $(BENCH_NEEDS)
	cargo run --release --package memtoll-bench --bin bench -- --memtoll $(MEMTOLL) $(if $(BEFORE),--before $(BEFORE))

bench-report: build ## measure reports of recordings with 10,000 processes, 20 million stack nodes, 100 million events (PROCESSES=500 NODES=1 EVENTS=5)
	@tools/need $(BUILD_NEEDS) git
	cargo run --release --package memtoll-bench --bin bench-report -- --memtoll $(MEMTOLL) $(if $(EVENTS),--events $(EVENTS)) $(if $(PROCESSES),--processes $(PROCESSES)) $(if $(NODES),--stack-nodes $(NODES))

bench-growth: build ## look whether memtoll takes four times as long where programs do things four times as often (ONLY=threads)
	@tools/need $(BUILD_NEEDS)
	cargo run --release --package memtoll-bench --bin bench-growth -- --memtoll $(MEMTOLL) --only "$(ONLY)"

PASSES = target/bench/passes
bench-passes: build ## measure what packing takes, an event: events of python3 and of a compiler go through the supervisor's worker again
	@tools/need $(BUILD_NEEDS) python3
	mkdir -p $(PASSES)
	PYTHONMALLOC=malloc $(MEMTOLL) record -q --force -o $(PASSES)/python3.memtoll -- python3 -c "import json; \
	  d = [{'id': i, 'name': f'name {i}', 'tags': ['a', 'b', f'tag{i % 97}'], 'at': {'x': i * 3.5, 'y': [i, i + 1]}} for i in range(60000)]; \
	  [json.loads(json.dumps(d)) for _ in range(2)]"
	$(MEMTOLL) record -q --force -o $(PASSES)/cc1plus.memtoll -- $$(g++ -print-prog-name=cc1plus) -quiet -D_GNU_SOURCE \
	  -imultiarch $$(g++ -print-multiarch) -std=c++20 -fsyntax-only -o /dev/null bench/programs/heavy.cpp
	cargo bench --package memtoll-record --bench passes -- $(CURDIR)/$(PASSES)/python3.memtoll $(CURDIR)/$(PASSES)/cc1plus.memtoll

bench-viewer: build viewer/node_modules ## measure the viewer beside its goals: first view, drags, advice, map, threads, html (EVENTS=60 FILE=app.memtoll)
	@tools/need $(BUILD_NEEDS) chromium python3
	npm --silent --prefix viewer run bench

bench-live: build viewer/node_modules ## measure what record --live costs the program: pairs of recordings with and without it (EVENTS=20 ROUNDS=10)
	@tools/need $(BUILD_NEEDS) chromium
	npm --silent --prefix viewer run bench-live

bench-fleet: build ## measure stores of many runs: rows and bytes a run, adding, the questions (ROWS=1000000,10000000,100000000)
	@tools/need $(FLEET_BENCH_NEEDS)
	cargo run --release --package memtoll-bench --bin bench-fleet -- --memtoll $(MEMTOLL) $(if $(ROWS),--server-rows $(ROWS))

bench-remedies: ## measure the remedies beside what there was before, other allocators and other libraries
	@tools/need $(REMEDY_BENCH_NEEDS)
	@tools/bench-remedies target/remedies/bench

fuzz-remedies: ## string_pool and region against simple models, a minute each, under libFuzzer
	@tools/need $(FUZZ_NEEDS)
	@tools/fuzz-remedies target/remedies/fuzz

check-allocators: build ## compare counts with Rust programs that bring jemalloc, mimalloc or snmalloc and count themselves
	@tools/need $(ALLOCATOR_NEEDS)
	tools/rust-allocators.py $(MEMTOLL)

casestudies: build ## run the case studies and write the tables in their READMEs
	@tools/need $(CASE_NEEDS)
	cargo run --release --package memtoll-bench --bin casestudies -- --memtoll $(MEMTOLL)

screenshots: demo viewer/node_modules ## make the pictures of the viewer in the docs from the demo's recording
	@tools/need chromium
	MEMTOLL=$(abspath $(MEMTOLL)) FILE=$(abspath $(OUT))/terminal.memtoll node viewer/tools/screenshots.mjs

stories: ## what the advice finds in the case studies, and that nothing is left in the solved ones
	@tools/need $(TEST_NEEDS)
	cargo build --workspace --bin memtoll --test e2e
	cargo test --workspace --test e2e advice::stories

predictions: build ## compare predicted with measured savings, on programs with a known fix
	@tools/need $(CASE_NEEDS)
	cargo run --release --package memtoll-bench --bin predictions -- --memtoll $(MEMTOLL)

check-counts: build ## compare allocations, frees and bytes with Valgrind's on real programs
	@tools/need $(CHECK_NEEDS)
	cargo run --release --package memtoll-bench --bin check-counts -- --memtoll $(MEMTOLL)

check-lost-blocks: build ## compare lost and reachable blocks with those of Valgrind's memcheck on real programs
	@tools/need $(CHECK_NEEDS)
	cargo run --release --package memtoll-bench --bin check-lost-blocks -- --memtoll $(MEMTOLL)

check-resident: build ## what holds the memory of real programs: redis, python3, sqlite3, node, ripgrep, git, javac; two of them fixed (ONLY="redis git")
	@tools/need $(RESIDENT_NEEDS)
	@tools/need-node
	tools/resident-programs $(MEMTOLL) $(ONLY)

check-costs: build ## compare page faults and time with the kernel's counts and with samples, on real programs
	@tools/need $(COST_NEEDS)
	cargo run --release --package memtoll-bench --bin check-costs -- --memtoll $(MEMTOLL)

check-unwind: build ## compare every stack with an independent unwinder on real programs
	@tools/need $(CHECK_NEEDS) cmake ninja-build
	cmake -G Ninja -S recorder -B target/recorder-check -D CHECK_UNWIND=ON -D RECORDER_TESTS=OFF
	ninja -C target/recorder-check
	cargo run --release --package memtoll-bench --bin check-unwind -- --memtoll $(MEMTOLL) \
		--recorder target/recorder-check/libmemtoll-check-unwind.so

clean: ## remove everything that was built
	rm -rf target
