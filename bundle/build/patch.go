package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// patch changes a line of a module that is built: what a machine may lack and that
// program insists on. It fits one version; the build fails when it fits no longer.
type patch struct {
	module, file string
	from, to     string
}

// containerdPatches: a machine need not have /etc/hosts, which containerd copies for
// each pod; containers of pods have a hosts file of their own anyway.
var containerdPatches = []patch{{
	module: "github.com/containerd/containerd/v2",
	file:   "internal/cri/server/podsandbox/sandbox_run_linux.go",
	from:   `if err := c.os.CopyFile(etcHosts, sandboxEtcHosts, 0644); err != nil {`,
	to: `if err := c.os.CopyFile(etcHosts, sandboxEtcHosts, 0644); err != nil &&
		(!os.IsNotExist(err) || c.os.WriteFile(sandboxEtcHosts, []byte("127.0.0.1\tlocalhost\n"), 0644) != nil) { // changed by lifepod`,
}}

// apply gives the text of the changed file.
func (p patch) apply(text string) (string, error) {
	if n := strings.Count(text, p.from); n != 1 {
		return "", fmt.Errorf("change %s of %s: the line to change is there %d times, want once: see what the new version does", p.file, p.module, n)
	}
	return strings.Replace(text, p.from, p.to, 1), nil
}

// overlay writes the changed files into a folder, and beside them what go build
// -overlay reads; it returns the path of that.
func (t tree) overlay(ctx context.Context, patches []patch, dir string) (string, error) {
	replace := map[string]string{}
	for i, p := range patches {
		module, err := output(ctx, t.module(), "go", "list", "-m", "-f", "{{.Dir}}", p.module)
		if err != nil {
			return "", err
		}
		original := filepath.Join(strings.TrimSpace(string(module)), filepath.FromSlash(p.file))
		text, err := os.ReadFile(original)
		if err != nil {
			return "", fmt.Errorf("change %s: %w", p.module, err)
		}
		changed, err := p.apply(string(text))
		if err != nil {
			return "", err
		}
		replace[original] = filepath.Join(dir, fmt.Sprintf("%d.go", i))
		if err := os.WriteFile(replace[original], []byte(changed), 0o644); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o644)
}
