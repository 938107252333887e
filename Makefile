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
