package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// patch changes a line of a module that is built: what a machine may lack and that
// program insists on. It fits one version; the build fails when it fits no longer.
type patch struct {
	file     string
	from, to string
}

// containerdPatches: a machine need not have /etc/hosts, which containerd copies for
// each pod; containers of pods have a hosts file of their own anyway.
var containerdPatches = []patch{{
	file: "internal/cri/server/podsandbox/sandbox_run_linux.go",
	from: `if err := c.os.CopyFile(etcHosts, sandboxEtcHosts, 0644); err != nil {`,
	to: `if err := c.os.CopyFile(etcHosts, sandboxEtcHosts, 0644); err != nil &&
		(!os.IsNotExist(err) || c.os.WriteFile(sandboxEtcHosts, []byte("127.0.0.1\tlocalhost\n"), 0644) != nil) { // changed by lifepod`,
}}

// apply gives the text of the changed file.
func (p patch) apply(text string) (string, error) {
	if n := strings.Count(text, p.from); n != 1 {
		return "", fmt.Errorf("%s: the line to change is there %d times, want once: see what the new version does", p.file, n)
	}
	return strings.Replace(text, p.from, p.to, 1), nil
}

// patched copies a module, changes the copy, and writes a go.mod that has it in the
// place of the module; it returns the path of that, for go build -modfile.
func (t tree) patched(ctx context.Context, module string, patches []patch) (string, error) {
	wrap := func(err error) error { return fmt.Errorf("change %s: %w", module, err) }
	original, err := t.source(ctx, module)
	if err != nil {
		return "", wrap(err)
	}
	dir := filepath.Join(t.root, ".cache", "patched")
	if err := os.RemoveAll(dir); err != nil {
		return "", wrap(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "module"), os.DirFS(original)); err != nil {
		return "", wrap(err)
	}
	for _, p := range patches {
		if err := p.applyTo(filepath.Join(dir, "module", filepath.FromSlash(p.file))); err != nil {
			return "", wrap(err)
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(t.module(), name))
		if err != nil {
			return "", wrap(err)
		}
		if name == "go.mod" { // the path is in the program: it is the same on every machine
			text = fmt.Appendf(text, "\nreplace %s => ../../.cache/patched/module\n", module)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return "", wrap(err)
		}
	}
	return filepath.Join(dir, "go.mod"), nil
}

// source is the folder of a module's sources, which are downloaded if they aren't there.
func (t tree) source(ctx context.Context, module string) (string, error) {
	if _, err := output(ctx, t.module(), "go", "mod", "download", module); err != nil {
		return "", err
	}
	dir, err := output(ctx, t.module(), "go", "list", "-m", "-f", "{{.Dir}}", module)
	return strings.TrimSpace(string(dir)), err
}

func (p patch) applyTo(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := p.apply(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}
