# `make` prints this help: every target has its line behind ##.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

.DEFAULT_GOAL := help
.PHONY: help
help: ## print this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- building ---------------------------------------------------------------

.PHONY: build packages runtime clean
build: packages runtime ## build bin/lifepod with its container runtime inside
	$(GO) build -trimpath -ldflags '$(LDFLAGS)' -o bin/lifepod ./cmd/lifepod

packages: ## install the distribution's packages that the build needs
	@hack/install-build-packages

runtime: packages ## build what bin/lifepod carries: containerd, runc, CNI, images
	@$(GO) run ./bundle/build

clean: ## remove everything that was built
	rm -rf bin .cache/bundle .cache/bundle.stamp
	find bundle/assets -mindepth 1 ! -name README.md -delete

# --- using ------------------------------------------------------------------

.PHONY: demo
demo: build ## build everything and run examples/hello.yaml (as root)
	bin/lifepod run examples/hello.yaml

# --- checking ---------------------------------------------------------------

# Programs that check, pinned in a module of their own.
TOOL := $(GO) tool -modfile=hack/tools/go.mod

.PHONY: check format vet lint unit test
check: format vet lint unit ## format, vet, lint and unit tests: under a minute, run it all the time (as root)

format: ## fail if gofmt would change something
	@files=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$files" ] || { echo "not gofmt-ed:"; echo "$$files"; exit 1; }

vet:
	$(GO) vet ./...
	$(GO) vet -tags realruntime,chaos ./...
	cd bundle/runtime && $(GO) vet ./...

lint: ## staticcheck and errcheck, pinned in hack/tools
	$(TOOL) staticcheck ./...
	$(TOOL) errcheck -exclude hack/errcheck.txt ./...

unit: ## tests that don't need the runtime (some make mounts and cgroups: as root)
	$(GO) test $$($(GO) list ./... | grep -v /e2e)
	cd bundle/runtime && $(GO) test ./...

test: build ## all tests, those on real containers included (as root)
	$(GO) test -tags realruntime -timeout 20m $$($(GO) list ./... | grep -v /e2e)
	cd bundle/runtime && $(GO) test ./...
	LIFEPOD=$(CURDIR)/bin/lifepod $(GO) test -timeout 20m -count=1 ./e2e/...

.PHONY: contract
contract: ## which rules of the lifecycle contract a test proves; fails if one has none
	@$(GO) run ./hack/contract

# --- measuring --------------------------------------------------------------

.PHONY: bench
bench: build ## lifepod against the bare runtime calls, on one containerd (as root)
	$(GO) run ./bench -lifepod bin/lifepod

.PHONY: soak fuzz chaos
soak: ## 20,000 random lives of the core (about two minutes; CI runs them)
	$(GO) test ./lifecycle -run RandomWalks -rapid.checks=10000 -timeout 30m
	$(GO) test ./lifecycle -run ProbeWalks -rapid.checks=5000 -timeout 30m

CHAOSKILLS ?= 150
CHAOSSEED  ?= 1
chaos: build ## kill lifepod CHAOSKILLS times, and what it runs with it (as root)
	LIFEPOD=$(CURDIR)/bin/lifepod $(GO) test -tags chaos ./e2e -run 'TestChaos' -v -count=1 -timeout 60m -chaos.kills=$(CHAOSKILLS) -chaos.seed=$(CHAOSSEED) -chaos.pods=10

FUZZTIME ?= 30s
FUZZ = -run '^$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 5x -fuzz
fuzz: ## fuzz all that reads what others wrote, FUZZTIME each
	$(GO) test ./manifest $(FUZZ) FuzzRead
	$(GO) test ./lifecycle $(FUZZ) FuzzRestore
	$(GO) test ./lifecycle $(FUZZ) FuzzAnnotations
	$(GO) test ./agent/checkpoint $(FUZZ) FuzzDamagedFile
	$(GO) test ./agent/environment $(FUZZ) FuzzEnvFile
	$(GO) test ./agent/environment $(FUZZ) FuzzExpand
	$(GO) test ./agent/crilog $(FUZZ) FuzzReader
	$(GO) test ./control $(FUZZ) FuzzRequest
	cd bundle/runtime && $(GO) test ./ipam $(FUZZ) FuzzRecord
	cd bundle/runtime && $(GO) test ./ipam $(FUZZ) FuzzDamagedStore
