package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
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

// runcTags are for runc; in the shim its library goes without checkpoints, which are runc's.
const (
	runcTags = "seccomp osusergo netgo"
	shimTags = containerdTags + " seccomp runc_nocriu"
)

func binaries(containerdVersion string) []binary {
	const containerd = "github.com/containerd/containerd/v2"
	const plugins = "github.com/containernetworking/plugins/plugins"
	version := "-X " + containerd + "/version.Version=" + containerdVersion
	return []binary{
		{pkg: containerd + "/cmd/containerd", out: "bin/containerd", tags: containerdTags, ldflags: version},
		{pkg: ownModule + "/cmd/pod-shim", out: "bin/containerd-shim-runc-v2", tags: shimTags, ldflags: version, cgo: true},
		{pkg: "github.com/opencontainers/runc", out: "bin/runc", tags: runcTags, cgo: true},
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
	all, ctx := errgroup.WithContext(ctx)
	all.Go(func() error { return t.compileHolders(ctx) })
	for _, b := range batches(binaries(strings.TrimSpace(string(version)))) {
		all.Go(func() error { return b.compile(ctx, t) })
	}
	return all.Wait()
}

// batch are programs that one `go build` makes: what they share is compiled once, and
// while one is linked the packages of the next are compiled.
type batch struct {
	cgo      bool
	programs []binary
}

// batches are the programs without cgo together, and each of the others alone: the shim and runc
// have the same library, with other tags.
func batches(list []binary) []batch {
	together := batch{}
	var all []batch
	for _, b := range list {
		if b.cgo {
			all = append(all, batch{cgo: true, programs: []binary{b}})
		} else {
			together.programs = append(together.programs, b)
		}
	}
	return append(all, together)
}

// tags returns the tags of all programs of the batch. No tag of one program means anything to another one.
func (b batch) tags() string {
	var list []string
	for _, p := range b.programs {
		list = append(list, strings.Fields(p.tags)...)
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ",")
}

func (b batch) String() string {
	var names []string
	for _, p := range b.programs {
		names = append(names, path.Base(p.out))
	}
	return strings.Join(names, ", ")
}

// arguments returns the arguments of `go build`. It writes the programs into the folder to: a
// program's name is the last part of its package's path.
func (b batch) arguments(to string) []string {
	args := []string{"build", "-v", "-trimpath", "-buildvcs=false", "-tags", b.tags(), "-o", to + string(filepath.Separator)}
	for _, p := range b.programs {
		flags := "-s -w " + p.ldflags
		if p.cgo {
			flags += " -extldflags -static"
		}
		args = append(args, "-ldflags="+p.pkg+"="+flags)
	}
	for _, p := range b.programs {
		args = append(args, p.pkg)
	}
	return args
}

// compile builds the programs into the work folder of a tree.
func (b batch) compile(ctx context.Context, t tree) error {
	to, cgo := filepath.Join(t.work(), "of-"+path.Base(b.programs[0].out)), "CGO_ENABLED=0"
	if b.cgo {
		cgo = "CGO_ENABLED=1"
	}
	say("compiling %s", b)
	cmd := exec.CommandContext(ctx, "go", b.arguments(to)...)
	cmd.Env = append(append(os.Environ(), t.arch.environment(t.sysroot())...), cgo)
	if err := execute(cmd, t.module(), "build "+b.String()); err != nil {
		return err
	}
	for _, p := range b.programs {
		out := filepath.Join(t.work(), p.out)
		if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
			return err
		}
		if err := os.Rename(filepath.Join(to, path.Base(p.pkg)), out); err != nil {
			return err
		}
	}
	return os.Remove(to)
}

// compileHolders builds what holds the namespaces of a pod: the first process of each
// sandbox, and the program of the image for sandboxes that are containers. Many run at
// once, so they are C without a library; their files say why, cflags how.
func (t tree) compileHolders(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Join(t.work(), "bin"), 0o755); err != nil {
		return err
	}
	for source, out := range map[string]string{"sandbox.c": "bin/pod-sandbox", "pause.c": "pause"} {
		cmd := exec.CommandContext(ctx, t.arch.compiler(), "@cflags", "-o", filepath.Join(t.work(), out), source)
		if err := execute(cmd, filepath.Join(t.module(), "pause"), "build "+source); err != nil {
			return err
		}
	}
	return nil
}

// say tells who waits for the build what is done.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bundle/build: "+format+"\n", args...)
}

// progressInterval is the time between two reports of how many packages have been compiled.
const progressInterval = 15 * time.Second

// execute runs cmd in dir; its output is part of the error. What Go downloads for it is
// shown at once, and now and then how many packages it has compiled: on a new machine that
// takes longer than anything else.
func execute(cmd *exec.Cmd, dir, what string) error {
	out := &transcript{downloads: os.Stderr, packages: slices.Contains(cmd.Args, "-v")}
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, out
	ticker, ended := time.NewTicker(progressInterval), make(chan struct{})
	defer ticker.Stop()
	defer close(ended)
	go func() {
		for shown := int64(0); ; {
			select {
			case <-ended:
				return
			case <-ticker.C:
				if n := out.compiled.Load(); n > shown {
					say("%s: %d packages so far", what, n)
					shown = n
				}
			}
		}
	}()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", what, err, bytes.TrimSpace(out.all.Bytes()))
	}
	return nil
}

// transcript is what a command prints, but for what `go build -v` prints, the packages
// that are compiled: it counts them. It passes on the lines that say what Go downloads.
type transcript struct {
	all       bytes.Buffer
	looked    int // bytes of all whose lines were looked at
	downloads io.Writer
	packages  bool // lines of one word are packages that are compiled
	compiled  atomic.Int64
}

func (t *transcript) Write(text []byte) (int, error) {
	t.all.Write(text)
	for {
		line, _, whole := bytes.Cut(t.all.Bytes()[t.looked:], []byte("\n"))
		switch {
		case !whole:
			return len(text), nil
		case t.packages && len(line) > 0 && !bytes.ContainsAny(line, " \t:"):
			t.compiled.Add(1)
			rest := bytes.Clone(t.all.Bytes()[t.looked+len(line)+1:])
			t.all.Truncate(t.looked)
			t.all.Write(rest)
			continue
		case bytes.HasPrefix(line, []byte("go: downloading ")):
			fmt.Fprintf(t.downloads, "%s\n", line)
		}
		t.looked += len(line) + 1
	}
}

func output(ctx context.Context, dir string, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return nil, fmt.Errorf("%s: %w\n%s", cmd, err, bytes.TrimSpace(exit.Stderr))
		}
		return nil, fmt.Errorf("%s: %w", cmd, err)
	}
	return out, nil
}
