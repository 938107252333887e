// Command build builds Kubernetes' own programs for tests and measurements into
// .cache/controlplane/bin: etcd, kube-apiserver, kube-scheduler,
// kube-controller-manager and kubectl, with -drivers the drivers of devices that upstream
// tests with, or with -kubelet the kubelet. cluster/go.mod pins the versions, and what lifepod up is
// made of is compiled once for both.
//
// With -kubernetes v1.35.4 it builds the parts of a control plane of another version of
// Kubernetes, or its kubelet, into .cache/controlplane/v1.35.4/bin.
//
// Run it from the repository's root as `go run ./e2e/controlplane/build`. When
// nothing it reads has changed since the last run it does nothing. The first
// build takes minutes.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifepod/lifepod/internal/wholefile"
)

const (
	kubernetes = "k8s.io/kubernetes"
	etcd       = "go.etcd.io/etcd/server/v3"
)

func main() {
	kubelet := flag.Bool("kubelet", false, "build the kubelet instead of the control plane")
	drivers := flag.Bool("drivers", false, "build drivers of devices instead of the control plane")
	version := flag.String("kubernetes", "", "build what is of this version of Kubernetes, such as v1.35.4 (default: that of cluster/go.mod)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := build(ctx, *version, alone{kubelet: *kubelet, drivers: *drivers}); err != nil {
		fmt.Fprintf(os.Stderr, "e2e/controlplane/build: %v\n", err)
		os.Exit(1)
	}
}

// alone is what is built instead of a control plane.
type alone struct{ kubelet, drivers bool }

func build(ctx context.Context, version string, instead alone) error {
	target := controlPlane
	switch {
	case instead.drivers && (version != "" || instead.kubelet):
		return errors.New("drivers have the version of cluster/go.mod, and are built alone: leave out -kubernetes and -kubelet, or -drivers")
	case version != "":
		var err error
		if target, err = ofVersion(version); err != nil {
			return err
		}
		if instead.kubelet {
			target.name, target.packages = kubeletAlone.name, kubelet
		}
	case instead.kubelet:
		target = kubeletAlone
	case instead.drivers:
		target = driversAlone
	}
	return target.build(ctx)
}

// target is what one run builds, with one go command, so that the packages that
// programs share are compiled and loaded once.
type target struct {
	name     string
	version  string   // of Kubernetes, if it isn't the one of cluster/go.mod
	packages []string // of the programs
	module   string   // the folder in which the go command runs
	folder   string   // what is built goes below it
	flags    []string // of go build
}

// cache is below the repository's root, which must be the working directory.
var cache = filepath.Join(".cache", "controlplane")

var (
	parts = []string{
		etcd,
		kubernetes + "/cmd/kube-apiserver",
		kubernetes + "/cmd/kube-controller-manager",
		kubernetes + "/cmd/kube-scheduler",
		kubernetes + "/cmd/kubectl",
	}
	kubelet = []string{kubernetes + "/cmd/kubelet"}
	drivers = []string{kubernetes + "/test/e2e/dra/test-driver", kubernetes + "/test/images/sample-device-plugin"}

	controlPlane = target{name: "controlplane", packages: parts, module: "cluster", folder: cache}
	driversAlone = target{name: "drivers", packages: drivers, module: "cluster", folder: cache}
	kubeletAlone = target{name: "kubelet", packages: kubelet, module: "cluster", folder: cache}
)

func (t target) build(ctx context.Context) error {
	stamp, err := t.stamp(ctx)
	if err != nil {
		return err
	}
	if t.upToDate(stamp) {
		slog.Debug("up to date", "target", t.name)
		return nil
	}
	slog.Info("building real Kubernetes programs for the tests; the first time takes minutes", "target", t.name)
	started := time.Now()
	if err := t.compile(ctx); err != nil {
		return err
	}
	if err := wholefile.Write(t.stampFile(), []byte(stamp)); err != nil { // the cache may be shared by links
		return fmt.Errorf("write stamp: %w", err)
	}
	slog.Info("built", "target", t.name, "seconds", int(time.Since(started).Seconds()))
	return nil
}

// compile builds into a folder of its own first: a program that is running
// cannot be overwritten, but replaced.
func (t target) compile(ctx context.Context) (err error) {
	version, err := t.prepare(ctx)
	if err != nil {
		return err
	}
	bin := filepath.Join(t.folder, "bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(t.folder, "build-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(fresh)) }()
	out, err := filepath.Abs(fresh)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", ldflags(version), "-o", out + "/"}, t.flags...)
	if _, err := run(ctx, t.module, append(args, t.packages...)...); err != nil {
		return err
	}
	for _, pkg := range t.packages {
		if err := os.Rename(filepath.Join(fresh, goName(pkg)), filepath.Join(bin, program(pkg))); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes the module if it isn't a committed one, and returns the version of
// Kubernetes that it names.
func (t target) prepare(ctx context.Context) (string, error) {
	if t.version != "" {
		return t.version, t.writeModule(ctx)
	}
	return run(ctx, t.module, "list", "-m", "-f", "{{.Version}}", kubernetes)
}

// ldflags tell the programs their version, as Kubernetes' build does; without
// it they are v0.0.0-master and distrust one another.
func ldflags(version string) string {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	minor, _, _ := strings.Cut(rest, ".")
	flags := []string{"-s", "-w"}
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags = append(flags, "-X", pkg+".gitVersion="+version, "-X", pkg+".gitMajor="+major, "-X", pkg+".gitMinor="+minor)
	}
	return strings.Join(flags, " ")
}

// program is the name that a package's program has in the cache.
func program(pkg string) string {
	if pkg == etcd {
		return "etcd"
	}
	return goName(pkg)
}

// goName is the name that the go command gives a package's program.
func goName(pkg string) string {
	if base := filepath.Base(pkg); base != "v3" {
		return base
	}
	return filepath.Base(filepath.Dir(pkg))
}

// run runs the go command in a module's folder and returns what it printed.
func run(ctx context.Context, module string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return "", fmt.Errorf("%s: %w\n%s", cmd, err, bytes.TrimSpace(exit.Stderr))
	}
	return strings.TrimSpace(string(out)), err
}
