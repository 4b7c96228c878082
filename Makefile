# Everything goes through the same commands as CI: see .ci/run.

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS  = -s -w -X main.version=$(VERSION)

# The soak tests' size.
FUZZTIME    ?= 10m
SOAK        ?= 1h
KILL_ROUNDS ?= 500
REFLECT_ROUNDS ?= 200

.PHONY: build check ci test lint proto bench llm-test crash-short soak release packages packages-check clean

# A static binary for this machine, with memsidecar-hook inside; GOOS and GOARCH choose another.
build:
	.ci/build memsidecar -trimpath -ldflags "$(LDFLAGS)"

# What a developer runs before every commit: the fast steps of CI.
check:
	@.ci/run format vet modernize tidy build lint
	CGO_ENABLED=0 go test ./...

# All of CI, as it runs there.
ci:
	@.ci/run

test:
	CGO_ENABLED=1 go test -race -count=1 ./...

lint:
	go tool -modfile=tools/lint/go.mod golangci-lint run ./...

# Generates gen, and the clients' code, from proto.
proto:
	go tool -modfile=tools/go.mod buf format -w
	go tool -modfile=tools/go.mod buf lint
	go tool -modfile=tools/go.mod buf generate
	clients/generate

# Figures beside their floors; BENCH="--only add --json" narrows it down.
bench:
	CGO_ENABLED=0 go run ./bench $(BENCH)

# Asks a real model server: how structured output is asked for, what becomes of replies that are cut off, wrong or endless, and what happens while the server
# hangs or is gone. Without LLM_BASE_URL it builds one and makes a model, once (tools/llmserver); with it, one that runs already is asked, such as Ollama.
llm-test:
	@set -e; flags="$(if $(LLM_BASE_URL),-llm.url=$(LLM_BASE_URL) -llm.model=$(or $(LLM_MODEL),default))"; \
	[ -n "$$flags" ] || flags=$$(tools/llmserver/prepare); \
	CGO_ENABLED=0 go test -count=1 -v -p 1 -timeout 30m -run '^TestRealModel$$' ./internal/reflector ./internal/reflector/consolidator ./internal/archiver ./test/e2e $$flags

# What the race detector sees only samples of: SIGKILL against the real binary under load, every simulated crash, and an index beside one built anew.
crash-short:
	CGO_ENABLED=0 go test -count=1 -run 'Crash|Error|Kill|Year|Survives|Equals|^TestPlainCopies$$' ./test/e2e ./internal/store ./internal/jsonstore ./internal/search ./internal/service/session ./internal/reflector ./internal/reflector/consolidator ./internal/store/backup ./internal/store/purge ./internal/reconcile ./internal/publish ./internal/archiver

# Hours, not minutes: a daemon with all trouble for SOAK, and its figures; KILL_ROUNDS rounds of SIGKILL, REFLECT_ROUNDS more of them in the middle of reflections, every simulated crash of the store, edits and copies by the thousand, every fuzz target for FUZZTIME.
soak:
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run '^TestSoak$$' -v ./test/e2e -soak.for=$(SOAK)
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run '^TestKill$$' ./test/e2e -kill.rounds=$(KILL_ROUNDS)
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run 'EditsRace|PlainCopies' ./test/e2e -edit.rounds=5000 -copies=500
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run LostUpdate -v ./test/e2e -mcp.creates=200
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run ReflectKill ./test/e2e -reflect.rounds=$(REFLECT_ROUNDS)
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run Crash ./internal/store -crash.full
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run RepairRecovers -v ./internal/daemon -repair.full
	CGO_ENABLED=0 go test -count=1 -run ChosenValues -v ./internal/redact -redact.every
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run Replies ./internal/reflector -replies=100000
	CGO_ENABLED=0 go test -count=1 -timeout 0 -run Generated -v ./internal/reflector/guard -changes=100000
	MEMSIDECAR_TEST_SHARE_LONG=1 CGO_ENABLED=0 go test -count=1 -timeout 0 -run 'Linearizable|WhileAReplyWaits' -v ./internal/share
	FUZZTIME=$(FUZZTIME) .ci/run fuzz

# Archives for every system, their packages and checksums, in dist. The version is the newest in CHANGELOG.md unless RELEASE names it.
release packages:
	@VERSION=$(RELEASE) .ci/release

# Each package in dist, installed and used in a clean place, as root; then what each registry checks before it takes one.
packages-check:
	test/packages/check dist
	test/packages/registries dist

clean:
	rm -rf memsidecar dist
