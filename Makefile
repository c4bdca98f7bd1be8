# toolhost: build, show, test. Needs Go and git, and nothing else.

GO      ?= go
BIN     := bin
BINARY  := $(BIN)/toolhost
PLUGINS := files
PROGRAMS := ./cmd/toolhost ./cmd/toolhost-task ./cmd/toolhost-architect ./cmd/toolhost-console ./cmd/toolhost-otel ./cmd/toolhost-hub

.PHONY: all build plugins run test verify flakes race probe attack attacks mutate long lint fuzz bench soak cross clean

all: build

# Without the C library the programs start sooner, and run wherever they are
# put. Tests are built in the same way: one of the two is compiled, not both.
export CGO_ENABLED ?= 0

# Programs do not tell where they were built, and have no tables for debuggers:
# linking takes half as long. One build does for all directories.
FLAGS := -trimpath -ldflags=-s
export GOFLAGS := $(strip $(filter-out $(FLAGS),$(shell $(GO) env GOFLAGS)) $(FLAGS))

# build makes the programs side by side, as they are to be installed.
build:
	$(GO) build -o $(BIN)/ $(PROGRAMS)

# plugins makes the shipped plugins as binaries of their own.
plugins:
	$(GO) build -o $(BIN)/ ./plugins/shipped/...

# run shows this repository's own agent.hcl at work, one call of each source.
run: build
	$(GO) run ./examples/demo $(BINARY)

# test runs the tests that take minutes on any machine with Go: go test -short.
# TESTFLAGS are further flags. vet is lint's. Tests wait for a good part of their
# time: half as many packages again as there are processors run at once.
test:
	$(GO) test -short -vet=off -timeout 10m -p $$(( ($$(getconf _NPROCESSORS_ONLN || echo 2) * 3 + 1) / 2 )) $(TESTFLAGS) ./...

# verify does all the rest, or STEPS of it: docs/TESTING.md. It takes hours.
verify:
	bash .ci/verify $(STEPS)

# flakes runs the tests FLAKES times and lists those that failed.
FLAKES ?= 12
flakes:
	bash .ci/flakes $(FLAKES)

race: export CGO_ENABLED = 1
race:
	$(GO) test -race ./...

# probe prints what a confined process can do, and fails where that is not what
# docs/SANDBOX.md says.
probe:
	$(GO) test ./internal/run/sandbox -count=1 -v -run '^(TestProbe|TestPromiseIsDocumented)$$'

# mutate takes one check of the defence away after the other, and demands that
# a test fails. It does not run as the root user.
mutate:
	$(GO) run ./internal/mutate

# attack runs the catalogue of attacks; with LEVEL=full or LEVEL=landlock at that
# level of the sandbox, and with AS=65534, by root, as that user.
attack:
	ATTACK_LEVEL=$(LEVEL) ATTACK_USER=$(AS) $(GO) test ./cmd/toolhost/attack -count=1 -timeout 60m

# attacks runs it, and the probe, at both levels and as both users.
attacks: probe
	for level in full landlock; do for user in '' 65534; do \
		$(MAKE) attack LEVEL=$$level AS=$$user || exit 1; done; done

# long runs tests with their large numbers of repetitions.
long:
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./cmd/toolhost ./cmd/toolhost/attack \
		./plugins/shipped/agentbench -run 'TestOcodeMemoryLosesNothing|TestReplayThisRepository|TestKills|TestAGrantIsRaced|TestGoInstallAlone|TestReloads'
	TOOLHOST_TEST_LONG=1 TOOLHOST_TEST_CALLS=1000000 $(GO) test -vet=off -count=1 -v -timeout 30m \
		./internal/keep/record -run 'TestFiltersAreQuick|TestKilledWriters'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/keep/undo \
		-run 'TestUndoRaces|TestUndoIsKilled'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 60m ./internal/keep/effects \
		-run 'TestKilledHosts|TestMoreFilesThanAreKept'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/peer/plugins -run 'TestRandomFaults'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/files/workspace -run 'TestRaces'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 60m ./internal/keep/review -run 'TestKilledCommits'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/files/search -run 'TestEnginesAgree'
	cd internal/console/bundle && TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 60m . \
		-run 'TestInboxOfManyCalls|TestHugeResults|TestFormsOfPublicServers'

# races puts what was changed in a view into a workspace RACES times while somebody
# else saves the same file.
.PHONY: races
RACES ?= 2000
races:
	TOOLHOST_TEST_RACES=$(RACES) $(GO) test -vet=off -count=1 -v -timeout 2h ./internal/keep/review -run 'TestRaces'

# faults breaks a fleet's programs, connections, disks and clocks while FAULTCALLS
# calls are made, or until FAULTSECONDS are over.
.PHONY: faults
FAULTCALLS ?= 50000
FAULTSECONDS ?= 86400
faults:
	TOOLHOST_TEST_CALLS=$(FAULTCALLS) TOOLHOST_TEST_SECONDS=$(FAULTSECONDS) TOOLHOST_TEST_HUBS=3 TOOLHOST_TEST_WORKERS=8 \
		TOOLHOST_TEST_SESSIONS=300 TOOLHOST_TEST_CALLERS=64 $(GO) test -vet=off -count=1 -v -timeout 25h ./cmd/toolhost-hub -run TestFaults

# sequences undoes and redoes SEQUENCES generated sequences of commands over small
# trees, and as many in repositories of five kinds.
.PHONY: sequences
SEQUENCES ?= 20000
sequences:
	TOOLHOST_TEST_SEQUENCES=$(SEQUENCES) $(GO) test -vet=off -count=1 -v -timeout 10h ./internal/keep/effects \
		-run 'TestSequences'

lint:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	$(GO) vet ./...
	cd examples/plugin-go && $(GO) vet ./...
	cd examples/embed && $(GO) vet ./...
	cd internal/console/bundle && $(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# fuzz runs every fuzz target for FUZZTIME.
FUZZTIME ?= 1m
fuzz:
	FUZZTIME=$(FUZZTIME) GO="$(GO)" sh .ci/fuzz

# reader holds what the reader of command lines sees against what real shells
# run, for READERLINES random lines.
READERLINES ?= 200000
READERSEED ?= $(shell date +%s)
.PHONY: reader
reader:
	TOOLHOST_READER_LINES=$(READERLINES) TOOLHOST_READER_SEED=$(READERSEED) $(GO) test ./internal/policy -run TestReaderAgainstShells -count=1 -v -timeout 3h

# trustfuzz compares what is in force with and without TRUSTFILES random
# agent.hcl that nobody has approved.
TRUSTFILES ?= 100000
TRUSTSEED ?= $(shell date +%s)
.PHONY: trustfuzz
trustfuzz:
	TOOLHOST_TRUST_FILES=$(TRUSTFILES) TOOLHOST_TRUST_SEED=$(TRUSTSEED) $(GO) test ./internal/project -run TestTrustDecision -count=1 -v -timeout 3h

# bench prints ratios measured in one run.
bench: build
	$(GO) run ./cmd/toolhost-bench $(BINARY)

# pictures makes the pictures of docs/CONSOLE.md anew; it needs a browser.
.PHONY: pictures
pictures:
	cd internal/console/bundle && CONSOLE_DOCS=$(abspath docs/pictures) $(GO) test -vet=off -count=1 . -run 'TestPictures'

# bench-console measures the console's page in a browser, with CONSOLE_CALLS recorded
# calls and with a thousand, what a call costs without a console and with one, and how
# soon a call that waits is seen.
.PHONY: bench-console
CONSOLE_CALLS ?= 1000000
bench-console:
	cd internal/console/bundle && CONSOLE_CALLS=$(CONSOLE_CALLS) $(GO) test -vet=off -count=1 -v -timeout 2h . \
		-run 'TestTimelineOfManyCalls|TestCallsBesideAConsole'
	cd internal/console/bundle && $(GO) test -vet=off -count=5 -v -timeout 30m . -run 'TestEightSessionsAskAtOnce'

# soak makes 10,000 calls over stdio and over HTTP and demands that nothing
# grows. With NODE=DIR it also compares with the reference filesystem server:
# npm install --prefix DIR @modelcontextprotocol/server-filesystem@2026.8.31
soak: build
	$(GO) run ./cmd/toolhost-soak $(BINARY) $(NODE)

# cross compiles the programs for other platforms; without optimizations, since
# all that counts is whether they compile.
CROSS := linux/arm64 darwin/arm64 windows/amd64
cross:
	for platform in $(CROSS); do GOOS=$${platform%/*} GOARCH=$${platform#*/} \
		$(GO) build -gcflags='all=-N -l' -o /dev/null $(PROGRAMS) || exit 1; done

# vet-others vets all packages, with their tests, for other systems.
.PHONY: vet-others
vet-others:
	for platform in darwin/arm64 windows/amd64; do GOOS=$${platform%/*} GOARCH=$${platform#*/} \
		$(GO) vet ./... || exit 1; done

clean:
	rm -rf $(BIN)

# release makes all that is published of VERSION into DIST, from the commit that
# is checked out. KEY is the file of minisign's secret key, its password in
# RELEASE_KEY_PASSWORD. Without one a key made for this release alone signs it,
# which proves nothing to others. SHORT=1 is linux/amd64 alone.
.PHONY: release release-verify release-test
DIST ?= dist
KEY ?= throwaway
RELEASE := $(GO) run -C internal/release -ldflags=-s .
release:
	@test -n "$(VERSION)" || { echo "usage: make release VERSION=v0.1.0 [KEY=FILE] [DIST=dist] [SHORT=1]"; exit 2; }
	$(RELEASE) build --version $(VERSION) --dist "$(abspath $(DIST))" $(if $(SHORT),--short) \
		$(if $(filter throwaway,$(KEY)),--throwaway-key,--key "$(abspath $(KEY))")

# release-verify checks a release with minisign's public key PUBKEY, or a file
# with it, and makes it again from its commit: all bytes must be equal.
release-verify:
	@test -n "$(PUBKEY)" || { echo "usage: make release-verify DIST=DIR PUBKEY=KEY|FILE"; exit 2; }
	$(RELEASE) verify --key "$(if $(wildcard $(PUBKEY)),$(abspath $(PUBKEY)),$(PUBKEY))" "$(abspath $(DIST))"
	$(RELEASE) rebuild --key "$(if $(wildcard $(PUBKEY)),$(abspath $(PUBKEY)),$(PUBKEY))" "$(abspath $(DIST))"

# release-test makes a release of all platforms, installs it by each channel, and
# makes it once more as another user in another directory. It takes long.
release-test:
	cd internal/release && TOOLHOST_TEST_ALL=1 RELEASE_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 2h ./...
