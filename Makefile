# toolhost: build, show, test. Needs Go and git, and nothing else.

GO      ?= go
BIN     := bin
BINARY  := $(BIN)/toolhost
PROGRAMS := ./cmd/toolhost ./cmd/toolhost-task ./cmd/toolhost-architect ./cmd/toolhost-console ./cmd/toolhost-otel

.PHONY: all build run test verify flakes race probe attack attacks mutate long lint fuzz bench soak cross clean

all: build

# Without the C library the programs start sooner, and run wherever they are
# put. Tests are built in the same way: one of the two is compiled, not both.
export CGO_ENABLED ?= 0

# Programs do not tell where they were built, and have no tables for debuggers:
# linking takes half as long. One build does for all directories.
FLAGS := -trimpath -ldflags=-s
export GOFLAGS := $(strip $(filter-out $(FLAGS),$(shell $(GO) env GOFLAGS)) $(FLAGS))

# build makes the programs side by side, as they are to be installed; programs leaves out the fleet's.
.PHONY: programs
programs:
	$(GO) build -o $(BIN)/ $(PROGRAMS)

build: programs
	$(GO) build -C fleet -o ../$(BIN)/ ./cmd/toolhost-hub

# run builds what it shows, and shows it at work in a small project.
run:
	@$(GO) run ./examples/demo $(GO) $(BINARY)

# test runs the tests that take minutes on any machine with Go: go test -short, with the programs that were
# built. TESTFLAGS are further flags. vet is lint's. Tests wait for a good part of their
# time: half as many packages again as there are processors run at once.
test: programs
	TOOLHOST_TEST_PROGRAMS=$(abspath $(BIN)) $(GO) test -short -vet=off -timeout 10m -p $$(( ($$(getconf _NPROCESSORS_ONLN || echo 2) * 3 + 1) / 2 )) $(TESTFLAGS) ./...

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

# TOOL builds one of the developers' programs in tools/, a module of its own.
TOOL := $(GO) build -C tools -o ../$(BIN)/tools/ .

# mutate takes one check of the defence away after the other, and demands that
# a test fails. It does not run as the root user. PATTERN chooses some.
mutate:
	$(TOOL)/mutate && $(BIN)/tools/mutate '$(PATTERN)'

# attack runs the catalogue of attacks; with LEVEL=full or LEVEL=landlock at that
# level of the sandbox, and with AS_USER=65534, by root, as that user.
attack:
	ATTACK_LEVEL=$(LEVEL) ATTACK_USER=$(AS_USER) $(GO) test ./cmd/toolhost/attack -count=1 -timeout 60m

# attacks runs it, the probe, and what leads around a list of hosts, at both levels
# and as both users.
attacks: probe
	$(GO) test ./internal/run/sandbox -count=1 -run '^TestNoWayLeadsAround$$'
	for level in full landlock; do for user in '' 65534; do \
		$(MAKE) attack LEVEL=$$level AS_USER=$$user || exit 1; done; done

# long runs tests with their large numbers of repetitions.
long:
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./cmd/toolhost ./cmd/toolhost/attack \
		./internal/toolset/agentbench -run 'TestOcodeMemoryLosesNothing|TestReplayThisRepository|TestKills|TestAGrantIsRaced|TestGoInstallAlone|TestReloads'
	TOOLHOST_TEST_LONG=1 TOOLHOST_TEST_CALLS=1000000 $(GO) test -vet=off -count=1 -v -timeout 30m \
		./internal/store/record -run 'TestFiltersAreQuick|TestKilledWriters'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/store/undo \
		-run 'TestUndoRaces|TestUndoIsKilled'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 60m ./internal/store/effects \
		-run 'TestKilledHosts|TestMoreFilesThanAreKept'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/source/plugins -run 'TestRandomFaults'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/file/workspace -run 'TestRaces'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 60m ./internal/store/review -run 'TestKilledCommits'
	TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 30m ./internal/file/search -run 'TestEnginesAgree'
	cd internal/face/console/bundle && TOOLHOST_TEST_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 60m . \
		-run 'TestInboxOfManyCalls|TestHugeResults|TestFormsOfPublicServers'

# trees makes TREES random trees of git's files by tools and has git look at them.
.PHONY: trees
TREES ?= 20000
trees:
	TOOLHOST_TEST_TREES=$(TREES) $(GO) test -vet=off -count=1 -v -timeout 24h ./internal/project -run 'TestTreesOfGit'

# races puts what was changed in a view into a workspace RACES times while somebody
# else saves the same file.
.PHONY: races
RACES ?= 2000
races:
	TOOLHOST_TEST_RACES=$(RACES) $(GO) test -vet=off -count=1 -v -timeout 2h ./internal/store/review -run 'TestRaces'

# faults breaks a fleet's programs, connections, disks and clocks while FAULTCALLS
# calls are made, or until FAULTSECONDS are over.
.PHONY: faults
FAULTCALLS ?= 50000
FAULTSECONDS ?= 86400
faults:
	TOOLHOST_TEST_CALLS=$(FAULTCALLS) TOOLHOST_TEST_SECONDS=$(FAULTSECONDS) TOOLHOST_TEST_HUBS=3 TOOLHOST_TEST_WORKERS=8 \
		TOOLHOST_TEST_SESSIONS=300 TOOLHOST_TEST_CALLERS=64 $(GO) test -C fleet -vet=off -count=1 -v -timeout 25h ./cmd/toolhost-hub -run TestFaults

# sequences undoes SEQUENCES generated sequences of commands over small trees, as many
# in repositories of five kinds, and as many by all ways to a file that there are.
.PHONY: sequences
SEQUENCES ?= 20000
sequences:
	TOOLHOST_TEST_SEQUENCES=$(SEQUENCES) $(GO) test -vet=off -count=1 -v -timeout 10h ./internal/store/effects \
		-run 'Sequences'

lint:
	test -z "$$(gofmt -l $$(git ls-files '*.go'))"
	$(GO) vet ./...
	cd fleet && $(GO) vet ./...
	cd tools && $(GO) vet ./...
	cd examples/plugin-go && $(GO) vet ./...
	cd examples/embed && $(GO) vet ./...
	cd internal/face/console/bundle && $(GO) vet ./...
	$(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	cd fleet && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...
	cd tools && $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2 ./...

# fuzz runs every fuzz target FUZZTIME: a count, as Go 1.26 may fail at the end of a time (go.dev/issue/75804).
FUZZTIME ?= 30000x
fuzz:
	FUZZTIME=$(FUZZTIME) GO="$(GO)" sh .ci/fuzz

# reader holds what the reader of command lines sees against what real shells
# run, for READERLINES random lines.
READERLINES ?= 200000
READERSEED ?= $(shell date +%s)
.PHONY: reader
reader:
	TOOLHOST_READER_LINES=$(READERLINES) TOOLHOST_READER_SEED=$(READERSEED) $(GO) test ./internal/policy -run TestReaderAgainstShells -count=1 -v -timeout 3h

# bench prints ratios measured in one run, with WORDS only of the lines that contain them.
bench: build
	$(TOOL)/bench && $(BIN)/tools/bench $(BINARY) $(WORDS)

# bench-gate fails where toolhost takes more processor time, as a ratio to small programs,
# than tools/bench/ratios.txt says, by more than ABOVE percent. With WRITE=-write it writes
# that file.
.PHONY: bench-gate
bench-gate: build
	$(TOOL)/bench && $(BIN)/tools/bench -gate tools/bench/ratios.txt -above $(or $(ABOVE),15) $(WRITE) $(BINARY) $(WORDS)

# pictures makes the pictures of docs/CONSOLE.md again; it needs a browser.
.PHONY: pictures
pictures:
	cd internal/face/console/bundle && CONSOLE_DOCS=$(abspath docs/pictures) $(GO) test -vet=off -count=1 . -run 'TestPictures'

# bench-console measures the console's page in a browser, with CONSOLE_CALLS recorded
# calls and with a thousand, what a call costs without a console and with one, and how
# soon a call that waits is seen.
.PHONY: bench-console
CONSOLE_CALLS ?= 1000000
bench-console:
	cd internal/face/console/bundle && CONSOLE_CALLS=$(CONSOLE_CALLS) $(GO) test -vet=off -count=1 -v -timeout 2h . \
		-run 'TestTimelineOfManyCalls|TestCallsBesideAConsole'
	cd internal/face/console/bundle && $(GO) test -vet=off -count=5 -v -timeout 30m . -run 'TestEightSessionsAskAtOnce'

# soak makes 10,000 calls over stdio and over HTTP and demands that nothing
# grows. With NODE=DIR it also compares with the reference filesystem server:
# npm install --prefix DIR @modelcontextprotocol/server-filesystem@2026.8.31
soak: build
	$(TOOL)/soak && $(BIN)/tools/soak $(BINARY) $(NODE)

# cross compiles the programs for other platforms; without optimizations, since
# all that counts is whether they compile. HUB= leaves out the fleet's.
CROSS := linux/arm64 darwin/arm64
HUB := ./cmd/toolhost-hub
cross:
	for platform in $(CROSS); do export GOOS=$${platform%/*} GOARCH=$${platform#*/}; \
		$(GO) build -gcflags='all=-N -l' -o /dev/null $(PROGRAMS) || exit 1; \
		test -z "$(HUB)" || $(GO) build -C fleet -gcflags='all=-N -l' -o /dev/null $(HUB) || exit 1; done

# vet-others vets all packages, with their tests, for other systems.
.PHONY: vet-others
vet-others:
	for platform in darwin/arm64; do GOOS=$${platform%/*} GOARCH=$${platform#*/} \
		$(GO) vet ./... && GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) vet -C fleet ./... || exit 1; done

clean:
	rm -rf $(BIN)

# release makes all that is published of VERSION into DIST, from the commit that
# is checked out. KEY is the file of minisign's secret key, its password in
# RELEASE_KEY_PASSWORD. Without one a key made for this release alone signs it,
# which proves nothing to others. SHORT=1 is linux/amd64 alone.
.PHONY: release release-verify release-test
DIST ?= dist
KEY ?= throwaway
RELEASE := $(GO) run -C tools/release -ldflags=-s .
release:
	@test -n "$(VERSION)" || { echo "usage: make release VERSION=v0.1.0 [KEY=FILE] [DIST=dist] [SHORT=1]"; exit 2; }
	$(RELEASE) build --version $(VERSION) --dist "$(abspath $(DIST))" $(if $(SHORT),--short) \
		$(if $(filter throwaway,$(KEY)),--throwaway-key,--key "$(abspath $(KEY))")

# release-key makes the key that signs releases into KEY, once, with the password in
# RELEASE_KEY_PASSWORD. docs/RELEASING.md says what to do with it.
.PHONY: release-key
release-key:
	@test "$(KEY)" != throwaway || { echo "usage: RELEASE_KEY_PASSWORD=... make release-key KEY=FILE"; exit 2; }
	$(RELEASE) key "$(abspath $(KEY))"

# release-verify checks a release with minisign's public key PUBKEY, or a file
# with it, and makes it again from its commit: all bytes must be equal.
release-verify:
	@test -n "$(PUBKEY)" || { echo "usage: make release-verify DIST=DIR PUBKEY=KEY|FILE"; exit 2; }
	$(RELEASE) verify --key "$(if $(wildcard $(PUBKEY)),$(abspath $(PUBKEY)),$(PUBKEY))" "$(abspath $(DIST))"
	$(RELEASE) rebuild --key "$(if $(wildcard $(PUBKEY)),$(abspath $(PUBKEY)),$(PUBKEY))" "$(abspath $(DIST))"

# release-test makes a release of all platforms, installs it by each channel, and
# makes it once more as another user in another directory. It takes long.
release-test:
	cd tools/release && TOOLHOST_TEST_ALL=1 RELEASE_LONG=1 $(GO) test -vet=off -count=1 -v -timeout 2h ./...
