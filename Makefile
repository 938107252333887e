# `make` prints this help: every target has its line behind ##.

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null || echo unknown)
LDFLAGS := -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)

# One set of flags for building, checking and testing, so that nothing is compiled
# twice. Without cgo lifepod needs no C library on the machine it is copied to; what
# needs cgo says so: runc and the shim in bundle/build, the shim's tests below. What only debuggers read (DWARF) would be a
# quarter of all that Go keeps, and an eighth of its time. Tests read what lifepod says in English.
DWARF := -gcflags=all=-dwarf=false
export GOFLAGS := -trimpath $(DWARF)
export CGO_ENABLED := 0
export LC_ALL := C.UTF-8

.DEFAULT_GOAL := help
.PHONY: help
help: ## print this help
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: flags
flags: ## what has your own go commands use what make has compiled: eval "$$(make flags)"
	@echo "export GOFLAGS='$(GOFLAGS)' CGO_ENABLED=0"

# --- building ---------------------------------------------------------------

# ARCH is amd64 or arm64; what is built for another than this machine's is bin/ARCH/lifepod.
HOSTARCH := $(shell $(GO) env GOHOSTARCH)
ARCH     := $(HOSTARCH)
BINARY   := bin/lifepod
ifneq ($(ARCH),$(HOSTARCH))
BINARY   := bin/$(ARCH)/lifepod
OVERLAY  := -overlay .cache/$(ARCH)/overlay.json
endif

.PHONY: build packages test-packages runtime clean
build: packages runtime ## build bin/lifepod with its container runtime inside; ARCH=arm64 for another architecture
	GOARCH=$(ARCH) $(GO) build $(OVERLAY) -ldflags '$(LDFLAGS)' -o $(BINARY) ./cmd/lifepod

packages: ## install the distribution's packages that the build needs
	@hack/install-packages build $(ARCH)

test-packages: ## install those that only tests use as well
	@hack/install-packages tests

runtime: packages ## build what bin/lifepod carries: containerd, runc, CNI, images
	@$(GO) run ./bundle/build -arch $(ARCH)

# Real programs that tests and measurements use, those of Kubernetes pinned in
# cluster/go.mod.
.PHONY: controlplane etcd drivers jobset kubelet metrics-server stock-runtime
controlplane: ## build etcd, kube-apiserver & co. that lifepod is compared with
	@$(GO) run ./e2e/controlplane/build

etcd: ## build the etcd alone, which several servers share in the tests
	cd cluster && $(GO) build -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/.cache/controlplane/bin/etcd go.etcd.io/etcd/server/v3

drivers: ## build the drivers of devices that the tests of lifepod agent use
	@$(GO) run ./e2e/controlplane/build -drivers
	cd e2e/controlplane/exampledriver && $(GO) build -buildvcs=false -ldflags '-s -w' \
		-o $(CURDIR)/.cache/controlplane/bin/dra-example-kubeletplugin sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin

jobset: ## build the JobSet controller that the tests of groups use, and its agent
	cd e2e/controlplane/jobset && $(GO) build -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/.cache/controlplane/bin/ tool

kubelet: ## build the kubelet that lifepod is compared with
	@$(GO) run ./e2e/controlplane/build -kubelet

# Upstream's, in the versions that lifepod carries; runc is built alike by both.
stock-runtime: runtime ## build the container runtime as upstream ships it, which ours is compared with
	mkdir -p .cache/stock/bin .cache/stock/cni
	cp .cache/bundle/bin/runc .cache/stock/bin/
	cd bundle/runtime && $(GO) build -buildvcs=false -tags 'osusergo netgo no_btrfs' -ldflags '-s -w' -o $(CURDIR)/.cache/stock/bin/ \
		github.com/containerd/containerd/v2/cmd/containerd github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2
	cd bundle/runtime && $(GO) build -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/.cache/stock/cni/ \
		$(addprefix github.com/containernetworking/plugins/plugins/,main/bridge main/loopback meta/portmap ipam/host-local)

metrics-server: ## build the metrics-server that reads lifepod's figures in the tests
	cd e2e/controlplane/metricsserver && $(GO) build -buildvcs=false -ldflags '-s -w' \
		-o $(CURDIR)/.cache/controlplane/bin/metrics-server sigs.k8s.io/metrics-server/cmd/metrics-server

# lifepod is one file to copy, so it has a limit, with everything in it.
.PHONY: size
size: build ## print the size of bin/lifepod and what each part takes
	@$(GO) run ./hack/size -limit 149 $(BINARY)

.PHONY: deb
deb: site build ## make a Debian package of it: bin/lifepod_VERSION_ARCH.deb
	cd packaging/build && $(GO) run . -root $(CURDIR) -binary $(BINARY) -version '$(VERSION)' -time "$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct 2>/dev/null || echo 0)}"

clean: ## remove everything that was built
	rm -rf bin .cache/bundle .cache/bundle.stamp .cache/demo .cache/controlplane .cache/amd64 .cache/arm64
	find bundle/assets -mindepth 1 ! -name README.md -delete

# --- using ------------------------------------------------------------------

# A program of its own, without clusters, so that a newcomer need not wait for what the demo
# does not use, and bin/lifepod is never half of what it is elsewhere.
.PHONY: demo
demo: packages ## build what lifepod run needs and run examples/hello.yaml (as root)
	@$(GO) run ./bundle/build -demo
	@echo "linking bin/demo/lifepod: the command run alone; make build builds them all" >&2
	@$(GO) build -overlay .cache/demo/overlay.json -ldflags '$(LDFLAGS)' -o bin/demo/lifepod ./cmd/lifepod-demo
	bin/demo/lifepod run examples/hello.yaml

# --- checking ---------------------------------------------------------------

# Tests of one module by gotestsum: $(call gotest,name,packages,flags of go test). A part of a target that is timed is
# `hack/part name command`; $(REPORT) prints what both have noted.
gotest = $(CURDIR)/hack/gotest $(1) "$(2)" $(3)
PART   := @$(CURDIR)/hack/part
REPORT := $(GO) run ./hack/testreport

# The linters, pinned in a module of their own and configured in .golangci.yml. The limit
# of memory is a soft one: without it the module cluster takes 11 GB.
LINT := GOMEMLIMIT=4GiB $(GO) tool -modfile=$(CURDIR)/hack/tools/go.mod golangci-lint run

# The shim is C in part: without cgo its tests would not be compiled. With -trimpath all clones
# share what cgo has made, and it names the sources in the clone that came first. Once that is deleted vet
# fails in the others.
SHIM := GOFLAGS=$(DWARF) CGO_ENABLED=1 $(GO)
SHIMTAGS := -tags seccomp

.PHONY: check format vet lint unit test
check: format vet lint unit ## format, vet, lint and unit tests: under a minute, run it all the time (as root)

format: ## fail if gofmt would change something
	@files=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$files" ] || { echo "not gofmt-ed:"; echo "$$files"; exit 1; }

vet: packages
	$(GO) vet ./...
	$(GO) vet -tags realruntime,chaos,testmachine ./...
	cd bundle/runtime && $(GO) vet ./... && $(SHIM) vet $(SHIMTAGS) ./...
	cd packaging/build && $(GO) vet ./...
	cd node/localdriver/sanity && $(GO) vet ./...
	cd e2e/simulated/operator && $(GO) vet ./...

portable: ## compile lifepod sim, and its unit tests, for macOS and Windows
	@for os in darwin windows; do \
		packages=$$(GOOS=$$os $(GO) list -deps ./cmd/lifepod-sim | grep '^github.com/lifepod/lifepod/\(cmd/lifepod-sim\|sim\)') && \
		GOOS=$$os $(GO) build -o /dev/null ./cmd/lifepod-sim && GOOS=$$os $(GO) test -exec true $$packages >/dev/null || exit 1; \
	done

lint: packages ## golangci-lint, pinned in hack/tools
	$(LINT) --build-tags realruntime,chaos,testmachine ./...
	cd bundle/runtime && CGO_ENABLED=1 $(LINT) --build-tags seccomp ./...
	cd packaging/build && $(LINT) ./...
	cd node/localdriver/sanity && $(LINT) ./...
	cd e2e/simulated/operator && $(LINT) ./...

unit: test-packages ## tests that don't need the runtime (some make mounts and cgroups: as root)
	@$(call gotest,unit,$$($(GO) list ./... | grep -v /e2e),$(UNITFLAGS))
	@cd bundle/runtime && GOFLAGS=$(DWARF) CGO_ENABLED=1 $(call gotest,shim,./...,$(SHIMTAGS))
	@cd packaging/build && $(call gotest,packaging,./...)
	@cd node/localdriver/sanity && $(call gotest,csi-sanity,./...)

.PHONY: check-cluster
check-cluster: test-packages ## the same for the module cluster, which takes longer
	cd cluster && $(GO) vet -tags conformance,attack ./... && $(LINT) --build-tags conformance,attack ./...
	@cd cluster && $(call gotest,cluster-unit,$$($(GO) list ./... | grep -v /e2e))

# --- testing on real containers ---------------------------------------------

# What shows that the product works: the main promise of each mode. The suites below have all the variations.
PODS  := TestExamples|TestRejected|TestTooLargeForTheKernel|TestSeveralPods|TestExitCode|TestExec|TestAttach|TestLogs|TestPreStop|TestKilledLifepod|TestKilledContainerd|TestInterrupt|TestResume|TestRestartPolicies|TestRestartAllContainers|TestSidecars|TestLivenessProbeRestarts|TestPublish|TestPodToPod|TestConfigVolumes|TestOOMKill|TestSecurity|TestDamagedCheckpoint|TestDetach|TestServiceNames|TestWhy
AGENT := TestPodLives|TestRestartOfTheAgentIsInvisible|TestDelete|TestExec|TestLogs|TestIndexedJob|TestJobFails|TestStaticPod|TestDaemonSet
UP    := TestAPI|TestBadInput|TestDetached|TestRestart|TestKillUnderLoad|TestStatefulSetVolume|TestNames|TestRollout

.PHONY: test test-parts test-all
test: ## unit tests, and what shows that run, agent and up work on real containers (as root)
	@rm -rf .cache/tests
	@$(MAKE) --no-print-directory test-parts; code=$$?; $(REPORT); exit $$code

test-parts:
	$(PART) "build" $(MAKE) --no-print-directory test-packages build
	$(PART) "unit tests" $(MAKE) --no-print-directory unit
	$(PART) "lifepod run" $(MAKE) --no-print-directory test-pods RUN='^($(PODS))\z'
	$(PART) "lifepod agent" $(MAKE) --no-print-directory test-agent RUN='^($(AGENT))\z' AGENTTESTS=./e2e/agent AGENTPROGRAMS=
	$(PART) "lifepod up" $(MAKE) --no-print-directory test-up RUN='^($(UP))\z' UPPROGRAMS=

test-all: ## everything: make test, and all suites of hack/suites/suites.yaml, each a target of its own; 45 minutes (as root)
	@rm -rf .cache/tests
	@$(MAKE) --no-print-directory test-parts && $(GO) run ./hack/suites -minutes 600 -run; code=$$?; $(REPORT); exit $$code

# Suites. RUN is a regular expression of tests' names.
RUN        ?= .
AGENTTESTS ?= ./e2e/agent ./e2e/controlplane ./e2e/nodeparts
AGENTPROGRAMS ?= drivers kubelet metrics-server
UPPROGRAMS ?= metrics-server
ONREAL     := LIFEPOD=$(CURDIR)/bin/lifepod
ONCE       := -p 1 -timeout 30m -count=1 -run '$(RUN)'
UPREAL     := cd cluster && $(ONREAL)
.PHONY: test-pods test-agent test-up test-storage test-servers test-real test-faults test-groups test-simulated
test-pods: test-packages build ## pods of lifepod run, with everything that may happen to them; 4 minutes
	@$(ONREAL) $(call gotest,pods,./e2e,$(ONCE))

test-agent: test-packages build $(AGENTPROGRAMS) ## lifepod agent as a node: take-over, devices, drivers, objects, joining; 4 minutes
	@$(ONREAL) $(call gotest,agent,$(AGENTTESTS),$(ONCE))

test-up: test-packages build $(UPPROGRAMS) ## lifepod up as a cluster, with Services and DNS; 3 minutes
	@$(UPREAL) $(call gotest,up,./e2e ./e2e/traffic,$(ONCE))

test-storage: test-packages build ## volumes of lifepod up; 3 minutes
	@$(UPREAL) $(call gotest,storage,./e2e/storage,$(ONCE))

test-servers: test-packages build etcd kubelet ## machines that join, several servers, another network; 3 minutes
	@$(UPREAL) $(call gotest,servers,./e2e/cni ./e2e/grow ./e2e/several,$(ONCE))

test-real: test-packages build ## the carried runtime, CRI calls, images and leftovers by themselves; 2 minutes
	@$(call gotest,real,./bundle/... ./cri/crifake ./leftovers ./worker/images,-tags realruntime -timeout 20m)

test-faults: test-packages build ## killed processes, hung calls, lost connections of an agent; 2 minutes
	@$(ONREAL) $(call gotest,faults,./e2e/faults,$(ONCE))

test-groups: test-packages build jobset ## groups that restart as one, with the JobSet controller; 3 minutes
	@$(ONREAL) $(call gotest,groups,./e2e/groups,$(ONCE))

test-simulated: test-packages build jobset kubelet metrics-server ## simulated nodes and lifepod sim; 6 minutes
	@$(ONREAL) $(call gotest,simulated,./e2e/simulated,$(ONCE))
	@cd e2e/simulated/operator && $(call gotest,operator,./...,-timeout 10m -count=1)

# Control planes of other versions run as their users have them, the kubelet is the one whose
# place lifepod takes (a kubelet of another minor version begins static pods anew).
SKEW      ?= v1.35.4 v1.36.3
SKEWTESTS := ./e2e/agent ./e2e/controlplane ./e2e/nodeparts
.PHONY: test-skew
test-skew: test-packages build drivers kubelet metrics-server ## the tests of lifepod agent against control planes of the versions SKEW (as root)
	@set -e; export LIFEPOD=$(CURDIR)/bin/lifepod; for version in $(SKEW); do \
		$(GO) run ./e2e/controlplane/build -kubernetes $$version; \
		export LIFEPOD_CONTROLPLANE=$(CURDIR)/.cache/controlplane/$$version/bin; \
		ln -f .cache/controlplane/bin/kubelet .cache/controlplane/bin/metrics-server .cache/controlplane/bin/test-driver .cache/controlplane/bin/sample-device-plugin $$LIFEPOD_CONTROLPLANE/; \
		echo "control plane of Kubernetes $$version"; \
		$(GO) test -p 1 -timeout 20m -count=1 $(SKEWTESTS); \
	done

# The lifepod that test-upgrade begins with is of the last commit with the minor version of Kubernetes before this one's.
# It is built once.
BEFORE        ?= $(shell sed -n 's/^  commit: \([0-9a-f]*\).*/\1/p' hack/suites/suites.yaml)
BEFOREPROGRAM := .cache/before/$(BEFORE)/lifepod
$(BEFOREPROGRAM):
	@git cat-file -e '$(BEFORE)^{commit}' || { echo "make $@: this clone has no commit $(BEFORE): git fetch --unshallow" >&2; exit 1; }
	@rm -rf $(@D)
	@mkdir -p $(@D)/tree
	git archive $(BEFORE) | tar -x -C $(@D)/tree
	$(MAKE) -C $(@D)/tree build BINARY=bin/lifepod VERSION=$(BEFORE) COMMIT=$(BEFORE)
	@mv $(@D)/tree/bin/lifepod $@
	@rm -rf $(@D)/tree

.PHONY: test-upgrade
test-upgrade: test-packages build $(BEFOREPROGRAM) ## what the lifepod of the minor version of Kubernetes before has made goes on with this one; 1 minute, and some to build that one
	@$(UPREAL) LIFEPOD_BEFORE=$(CURDIR)/$(BEFOREPROGRAM) $(call gotest,upgrade,./e2e/upgrade,$(ONCE))

# CHECKS is a regular expression of their names; CGROUP=v1 boots with cgroup v1, SUITE=trixie another Debian.
CHECKS ?=
CGROUP ?= v2
SUITE  ?= bookworm
.PHONY: test-site
test-site: test-packages site build ## that site in a browser
	@$(call gotest,site,./e2e/site,$(ONCE))

.PHONY: test-machine test-machine-smoke
test-machine: deb ## boot a Debian with systemd, cgroup v2 and AppArmor in QEMU and test the package there: all CHECKS or some, ARCH=arm64 (as root)
	@hack/install-packages machine $(ARCH)
	$(GO) test -tags testmachine -timeout 120m -count=1 -v ./e2e/testmachine/checks \
		-testmachine.architecture=$(ARCH) -testmachine.package=$$(ls -t $(CURDIR)/bin/lifepod_*_$(ARCH).deb | head -1) -testmachine.checks='$(CHECKS)' -testmachine.suite=$(SUITE) \
		-testmachine.cgroupv1=$(if $(filter v1,$(CGROUP)),true,false)

test-machine-smoke: CHECKS = hello|detached|ml-worker|oom|up|poweroff
test-machine-smoke: test-machine ## the most important of these: pods, running out of memory, lifepod up with a Deployment, poweroff

# The namespaces have no network to download from, so that everything is built before. ATTACK='-seed 1 -pods 2000' repeats a
# run or makes a longer one.
ATTACK ?=
.PHONY: attack
attack: test-packages build ## hostile values in all fields of pods and what they use, and a container that tries to leave (as root)
	cd cluster && $(GO) build -o $(CURDIR)/bin/escape ./e2e/attack/escape
	cd cluster && $(GO) test -c -tags attack -o $(CURDIR)/bin/attack.test ./e2e/attack
	cd cluster/e2e/attack && LIFEPOD=$(CURDIR)/bin/lifepod ./inside $(CURDIR)/bin/attack.test -test.v -test.timeout 60m $(ATTACK)

# What the programs of bin/lifepod are made of.
PROGRAMS = $(BINARY) .cache/cluster/bin/lifepod $(wildcard .cache/bundle/bin/c* .cache/bundle/bin/runc .cache/bundle/toolbox* .cache/bundle/cni/*)
.PHONY: vulnerabilities update-vulnerabilities
vulnerabilities: build ## fail on a known vulnerability of what bin/lifepod is made of (govulncheck, with a database kept here)
	@$(GO) run ./hack/vulnerabilities $(PROGRAMS)

update-vulnerabilities: ## renew that database from a clone of github.com/golang/vulndb: VULNDB=folder
	@[ -n "$(VULNDB)" ] || { echo "make update-vulnerabilities: want VULNDB=<a clone of github.com/golang/vulndb>" >&2; exit 1; }
	$(GO) run ./hack/vulnerabilities -renew $(VULNDB)

.PHONY: contract pictures site upstream
contract: ## which rules of docs/contract a test proves, which none does, which are not ours; fails on one that is nowhere
	@$(GO) run ./hack/contract

site: ## docs as a site in bin/site, with a search, in English and Chinese; with it, make build makes lifepod docs
	@hack/install-packages site
	hack/site/build

pictures: ## draw the pictures of docs/guide and docs/zh/guide anew, as hack/pictures/pictures.yaml says
	@$(GO) run ./hack/pictures

upstream: ## what a newer Kubernetes has changed of what rules have as their source: OLD=v1.36.3 NEW=v1.37.2, ALL=-all with what is decided
	@$(GO) run ./hack/upstream $(ALL) $(OLD) $(NEW)

# --- Kubernetes' conformance tests -----------------------------------------

CONFORMANCE         := .cache/conformance
CONFORMANCEVERSION  = $(shell cd cluster/e2e/conformance/upstream && $(GO) list -m -f '{{.Version}}' k8s.io/kubernetes)
CONFORMANCEARGS     ?=
UPSTREAM            := cluster/e2e/conformance/upstream

CONFORMANCEPARTS    := build controlplane $(CONFORMANCE)/bin/e2e.test $(CONFORMANCE)/bin/busybox $(CONFORMANCE)/debian.tar
SIDECARS            := cluster/e2e/conformance/sidecars

.PHONY: conformance conformance-storage conformance-local-storage conformance-devices conformance-node
conformance: $(CONFORMANCEPARTS) ## upstream's conformance tests on two nodes; takes hours (as root)
	$(call upstreamtests,TestConformance,report.md)

conformance-storage: $(CONFORMANCEPARTS) $(CONFORMANCE)/bin/hostpathplugin $(CONFORMANCE)/bin/csi-provisioner ## upstream's tests of CSI volumes with its mock driver, on one node; takes hours (as root)
	$(call upstreamtests,TestStorage,storage.md)

conformance-local-storage: $(CONFORMANCEPARTS) ## upstream's tests of storage drivers with lifepod's own, on one node (as root)
	$(call upstreamtests,TestLocalStorage,local-storage.md)

conformance-devices: $(CONFORMANCEPARTS) drivers $(CONFORMANCE)/bin/hostpathplugin ## upstream's tests of resource claims and device plugins, on one node (as root)
	$(call upstreamtests,TestDevices,devices.md)

conformance-node: $(CONFORMANCEPARTS) drivers $(CONFORMANCE)/bin/e2e_node.test ## upstream's tests of a kubelet that are about devices, claims, CPUs and memory, with lifepod agent as it; takes hours (as root)
	$(call upstreamtests,TestNode,node.md)

define upstreamtests
	cd cluster && LIFEPOD=$(CURDIR)/bin/lifepod GOFLAGS='$(GOFLAGS) -tags=conformance' \
		$(GO) test ./e2e/conformance -run '^$(1)$$' -v -count=1 -timeout 7h -args -conformance.report $(CURDIR)/$(CONFORMANCE)/$(2) $(CONFORMANCEARGS)
endef

# The tests know by these flags which version they belong to.
UPSTREAMLDFLAGS = -s -w -X k8s.io/component-base/version.gitVersion=$(CONFORMANCEVERSION) \
	-X k8s.io/component-base/version.gitMajor=$(word 1,$(subst ., ,$(CONFORMANCEVERSION:v%=%))) \
	-X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(CONFORMANCEVERSION))) \
	-X k8s.io/client-go/pkg/version.gitVersion=$(CONFORMANCEVERSION)
$(CONFORMANCE)/bin/e2e.test: $(UPSTREAM)/go.mod
	mkdir -p $(CONFORMANCE)/bin
	cd $(UPSTREAM) && $(GO) build -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/$(CONFORMANCE)/bin/ github.com/onsi/ginkgo/v2/ginkgo \
		k8s.io/kubernetes/test/images/agnhost k8s.io/kubernetes/test/images/nonewprivs k8s.io/sample-apiserver
	cd $(UPSTREAM) && $(GO) test -c -buildvcs=false -ldflags "$(UPSTREAMLDFLAGS)" -o $(CURDIR)/$@ k8s.io/kubernetes/test/e2e

$(CONFORMANCE)/bin/e2e_node.test: $(UPSTREAM)/go.mod
	mkdir -p $(CONFORMANCE)/bin
	cd $(UPSTREAM) && $(GO) test -c -buildvcs=false -ldflags "$(UPSTREAMLDFLAGS)" -o $(CURDIR)/$@ k8s.io/kubernetes/test/e2e_node

# What stands in for two programs of drivers that are not published as Go modules.
$(CONFORMANCE)/bin/hostpathplugin: $(wildcard $(UPSTREAM)/hostpathplugin/*.go $(UPSTREAM)/registrar/*.go)
	mkdir -p $(CONFORMANCE)/bin
	cd $(UPSTREAM) && $(GO) build -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/$(CONFORMANCE)/bin/ ./hostpathplugin ./registrar

$(CONFORMANCE)/bin/csi-provisioner: $(SIDECARS)/go.mod
	mkdir -p $(CONFORMANCE)/bin
	cd $(SIDECARS) && $(GO) build -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/$(CONFORMANCE)/bin/ tool

$(CONFORMANCE)/bin/busybox: cluster/e2e/conformance/busybox.sh
	@hack/install-packages conformance
	mkdir -p $(CONFORMANCE)/bin
	$< $@

# What most of the tests' images have in common.
$(CONFORMANCE)/debian.tar: cluster/e2e/conformance/packages.txt
	@hack/install-packages conformance
	mkdir -p $(CONFORMANCE)
	mmdebstrap --variant=extract --include="$$(paste -sd, $<)" bookworm $@

# --- upstream's validation of container runtimes ---------------------------

CRITEST     := .cache/critest
CRITESTARGS ?=

.PHONY: critest
critest: runtime $(CRITEST)/critest $(CRITEST)/nginx.tar $(CONFORMANCE)/bin/busybox ## upstream's critest against the carried runtime; e2e/critest/expected.txt says what is skipped (as root)
	$(GO) run ./e2e/critest $(CRITESTARGS)

$(CRITEST)/critest: e2e/critest/upstream/go.mod
	mkdir -p $(CRITEST)
	cd e2e/critest/upstream && $(GO) test -c -buildvcs=false -ldflags '-s -w' -o $(CURDIR)/$@ sigs.k8s.io/cri-tools/cmd/critest

$(CRITEST)/nginx.tar:
	@hack/install-packages conformance
	mkdir -p $(CRITEST)
	mmdebstrap --variant=extract --include=base-files,coreutils,dash,grep,libc-bin,nginx-light bookworm $@

# --- measuring --------------------------------------------------------------

.PHONY: bench bench-steps bench-sim bench-agent bench-groups-sim bench-up
bench: build stock-runtime ## lifepod against the bare runtime calls, on one containerd and on upstream's, and against podman (as root)
	@hack/install-packages bench
	hack/usual-mounts $(GO) run ./bench -lifepod bin/lifepod

bench-steps: runtime stock-runtime ## where the time of one create goes, step by step, on upstream's runtime and on ours (as root)
	hack/usual-mounts $(GO) run ./bench/steps

BENCHSIM ?= 20000x
bench-sim: ## simulated lives per second of one core, and whether memory grows; BENCHSIM=10m for a time
	GOMAXPROCS=1 GOGC=400 $(GO) test ./sim -run '^$$' -bench 'Life$$' -benchtime $(BENCHSIM) # GOGC as in lifepod sim --runs

BENCHUP ?= -n 3
bench-up: build controlplane kubelet ## lifepod up against the separate programs of a cluster (as root)
	$(GO) run ./bench/up -lifepod bin/lifepod $(BENCHUP)

# With EventedPLEG, which is off, the kubelet hears of its containers by events, as lifepod does.
BENCHAGENT ?= -blocks 3 -n 5
bench-agent: test-packages build controlplane kubelet ## lifepod agent against the kubelet, on a real control plane (as root)
	hack/usual-mounts $(GO) run ./bench/agent -lifepod bin/lifepod $(BENCHAGENT)
	hack/usual-mounts $(GO) run ./bench/agent -lifepod bin/lifepod -kubelet-gates EventedPLEG=true $(BENCHAGENT)

BENCHGROUPSSIM ?= -pods 200
bench-groups-sim: controlplane jobset ## how fast a group restarts as one on simulated nodes, by its members and by a JobSet, beside the bare writes; 200 members if nothing else is said
	$(GO) run ./bench/groups $(BENCHGROUPSSIM)

SOAK     ?= 20000
SOAKSEED ?= 0
# A machine is compared with a clone that has derived nothing after every COMPARE steps of a walk; laws hold after each.
COMPARE  ?= 1
.PHONY: soak soak-agent fuzz chaos
soak: ## SOAK random lives of the core, and times of a node, others at each call, or those of a SOAKSEED
	$(GO) test ./lifecycle -run RandomWalks -rapid.checks=$$(($(SOAK) / 2)) -rapid.seed=$(SOAKSEED) -compare=$(COMPARE) -timeout 30m
	$(GO) test ./lifecycle -run 'ProbeWalks|AdoptQuiet' -rapid.checks=$$(($(SOAK) / 4)) -rapid.seed=$(SOAKSEED) -compare=$(COMPARE) -timeout 30m
	$(GO) test ./roster -run RandomWalks -rapid.checks=$(SOAK) -rapid.seed=$(SOAKSEED) -compare=$(COMPARE) -timeout 30m
	$(GO) test ./pods -run NodeWalks -rapid.checks=$$(($(SOAK) / 20)) -rapid.seed=$(SOAKSEED) -timeout 30m

PROVE     ?= 10m
PROVESEED ?= 0
.PHONY: prove prove-lives prove-issue prove-issues prove-groups
prove: ## random lives of pods and nodes for the time PROVE=10m: how many, which faults, where they came; PROVESEED repeats them
	$(GO) run ./hack/prove -for $(PROVE) -seed $(PROVESEED) -compare $(COMPARE)

LIVES ?= 200000
prove-lives: ## LIVES random lives, the same for each PROVESEED; CI leads 200,000
	$(GO) run ./hack/prove -lives $(LIVES) -seed $(PROVESEED) -compare $(COMPARE)

prove-issue: ## put the kubelet's rule into lifepod that led to its bug N=138514: a test fails, which passes without (docs/proof.md)
	@[ -n "$(N)" ] || { echo "make prove-issue: want N=<number>, such as N=138514 (docs/reports/kubelet-bugs.md has them all)" >&2; exit 1; }
	$(GO) run ./hack/prove -issue $(N)

prove-issues: ## the same with every bug of docs/reports/kubelet-bugs.md
	$(GO) run ./hack/prove

prove-groups: ## put mistakes into how members of a group tell each other: a test fails for each, which passes without
	$(GO) run ./hack/prove -groups

# Quint is the npm package's own simulator: random runs, and no download of a model checker.
MODELRUNS ?= 2000
MODEL     := .cache/model
.PHONY: model
model: ## check the model of a pod's life in MODELRUNS random runs (docs/proof.md); needs node and npm
	mkdir -p $(MODEL) && cp lifecycle/model/package.json $(MODEL) && npm install --prefix $(MODEL) --ignore-scripts --no-audit --no-fund --silent
	$(MODEL)/node_modules/.bin/quint run --backend typescript --verbosity 1 --invariant laws --witnesses=isGone --witnesses=restartedAll --witnesses=cameLate \
		--max-samples $(MODELRUNS) --max-steps 60 --seed 1 lifecycle/model/life.qnt

CHAOSKILLS ?= 150
CHAOSSEED  ?= 1
chaos: build ## kill lifepod CHAOSKILLS times, and what it runs with it (as root)
	LIFEPOD=$(CURDIR)/bin/lifepod $(GO) test -tags chaos ./e2e -run 'TestChaos' -v -count=1 -timeout 60m -chaos.kills=$(CHAOSKILLS) -chaos.seed=$(CHAOSSEED) -chaos.pods=10

# The long forms of e2e/faults; each test prints its figures.
soak-agent: build ## faults of lifepod agent's cluster for half an hour, with figures (as root)
	LIFEPOD=$(CURDIR)/bin/lifepod $(GO) test ./e2e/faults -v -count=1 -parallel 2 -timeout 90m -faults.kills=50 -faults.runtime-kills=20 \
		-faults.outage=2m -faults.failing=5m -faults.churn-pods=100 -faults.churn-time=10m

CHURNPODS ?= 10000
churn-images: build ## CHURNPODS pods of 50 images on a node with a small disk (as root, hours)
	LIFEPOD=$(CURDIR)/bin/lifepod $(GO) test ./e2e -run TestImagesChurn -v -count=1 -timeout 12h -collect.pods=$(CHURNPODS) -collect.images=50

# Every target there is, in Go, and of what calls C.
FUZZTIME ?= 30s
FUZZ = -run '^$$' -fuzztime $(FUZZTIME) -fuzzminimizetime 5x -fuzz
fuzz: ## fuzz all that reads what others wrote, FUZZTIME each; FUZZTIME=1x is a try
	@set -e; for file in $$(git grep -l '^func Fuzz' -- '*_test.go'); do \
		case $$file in bundle/runtime/*) go="$(SHIM)" tags="$(SHIMTAGS)";; *) go="$(GO)" tags=;; esac; \
		for target in $$(sed -n 's/^func \(Fuzz[A-Za-z0-9]*\).*/\1/p' $$file); do \
			echo "$$file $$target"; (cd $$(dirname $$file) && env $$go test $$tags . $(FUZZ) "^$$target\$$"); \
		done; \
	done
