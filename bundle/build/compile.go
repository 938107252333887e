package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// ownModule is the module of bundle/runtime.
const ownModule = "github.com/lifepod/lifepod/bundle/runtime"

// binary is a Go program of the bundle.
type binary struct {
	pkg string
	// out is the path below the work folder.
	out     string
	tags    string
	ldflags string
	// cgo programs are linked statically, so that one build runs on any
	// distribution.
	cgo bool
}

// containerdTags leave out what lifepod never uses; CRI and the overlayfs and
// native snapshotters stay.
const containerdTags = "no_btrfs no_devmapper no_zfs no_tracing osusergo netgo"

func binaries(containerdVersion string) []binary {
	const containerd = "github.com/containerd/containerd/v2"
	const plugins = "github.com/containernetworking/plugins/plugins"
	version := "-X " + containerd + "/version.Version=" + containerdVersion
	return []binary{
		{pkg: containerd + "/cmd/containerd", out: "bin/containerd", tags: containerdTags, ldflags: version},
		{pkg: ownModule + "/cmd/pod-shim", out: "bin/containerd-shim-runc-v2", tags: containerdTags, ldflags: version},
		{pkg: "github.com/opencontainers/runc", out: "bin/runc", tags: "seccomp osusergo netgo", cgo: true},
		{pkg: plugins + "/main/bridge", out: "cni/bridge"},
		{pkg: plugins + "/main/loopback", out: "cni/loopback"},
		{pkg: plugins + "/meta/portmap", out: "cni/portmap"},
		{pkg: ownModule + "/cmd/lifepod-bridge", out: "cni/lifepod-bridge"},
		{pkg: ownModule + "/cmd/lifepod-ipam", out: "cni/lifepod-ipam"},
		{pkg: ownModule + "/cmd/toolbox", out: "toolbox"},
		{pkg: ownModule + "/cmd/toolbox-net", out: "toolbox-net"},
	}
}

// compile builds every program into the work folder.
func (t tree) compile(ctx context.Context) error {
	version, err := output(ctx, t.module(), "go", "list", "-m", "-f", "{{.Version}}", "github.com/containerd/containerd/v2")
	if err != nil {
		return err
	}
	if err := t.makeSysroot(ctx); err != nil {
		return err
	}
	// What an earlier version built must not be packed.
	if err := os.RemoveAll(t.work()); err != nil {
		return fmt.Errorf("clear the work folder: %w", err)
	}
	list := binaries(strings.TrimSpace(string(version)))
	for i, b := range list {
		say("%s (%d of %d)", path.Base(b.out), i+1, len(list))
		if err := t.compileGo(ctx, b); err != nil {
			return err
		}
	}
	return t.compileHolders(ctx)
}

func (t tree) compileGo(ctx context.Context, b binary) error {
	ldflags, cgo := "-s -w "+b.ldflags, "CGO_ENABLED=0"
	if b.cgo {
		ldflags, cgo = ldflags+" -extldflags -static", "CGO_ENABLED=1"
	}
	out := filepath.Join(t.work(), b.out)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
		"-tags", b.tags, "-ldflags", ldflags, "-o", out, b.pkg)
	cmd.Env = append(append(os.Environ(), t.arch.environment(t.sysroot())...), cgo)
	return execute(cmd, t.module(), "build "+b.pkg)
}

// compileHolders builds what holds the namespaces of a pod: the first process of each
// sandbox, and the program of the image for sandboxes that are containers. Many run at
// once, so they are C without a library; their files say why, cflags how.
func (t tree) compileHolders(ctx context.Context) error {
	for source, out := range map[string]string{"sandbox.c": "bin/pod-sandbox", "pause.c": "pause"} {
		cmd := exec.CommandContext(ctx, t.arch.compiler(), "@cflags", "-o", filepath.Join(t.work(), out), source)
		if err := execute(cmd, filepath.Join(t.module(), "pause"), "build "+source); err != nil {
			return err
		}
	}
	return nil
}
