package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var releases = regexp.MustCompile(`^v1\.\d+\.\d+$`)

// ofVersion is a control plane of a version of Kubernetes. It has a module of its own,
// which is made from Kubernetes' own go.mod of that version and not committed: nobody
// chooses anything in it.
func ofVersion(version string) (target, error) {
	if !releases.MatchString(version) {
		return target{}, fmt.Errorf("-kubernetes %q: want a release of Kubernetes, such as v1.35.4", version)
	}
	folder := filepath.Join(cache, version)
	return target{
		name: "controlplane", version: version, packages: parts,
		module: filepath.Join(folder, "module"), folder: folder,
		// The go command adds the checksums of the modules that Kubernetes has in its
		// own repository.
		flags: []string{"-mod=mod"},
	}, nil
}

// writeModule writes the module that has the programs of the version.
func (t target) writeModule(ctx context.Context) error {
	if err := os.RemoveAll(t.module); err != nil {
		return err
	}
	if err := os.MkdirAll(t.module, 0o755); err != nil {
		return err
	}
	// A module without anything, for that the go command needs one.
	if err := t.writeFile("go.mod", []byte("module lifepod.dev/controlplane\n")); err != nil {
		return err
	}
	upstream, err := t.download(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(upstream, name))
		if err != nil {
			return err
		}
		if err := t.writeFile(name, text); err != nil {
			return err
		}
	}
	staging, err := t.staging(ctx)
	if err != nil {
		return err
	}
	edits := []string{"mod", "edit", "-module=lifepod.dev/controlplane", "-require=" + kubernetes + "@" + t.version}
	for _, path := range staging {
		edits = append(edits, "-replace="+path+"="+path+"@"+t.libraries())
	}
	_, err = run(ctx, t.module, edits...)
	return err
}

// libraries is the version under which the modules of Kubernetes' repository are
// published.
func (t target) libraries() string { return "v0" + strings.TrimPrefix(t.version, "v1") }

func (t target) writeFile(name string, text []byte) error {
	return os.WriteFile(filepath.Join(t.module, name), text, 0o644)
}

// download returns the folder that has Kubernetes' repository.
func (t target) download(ctx context.Context) (string, error) {
	text, err := run(ctx, t.module, "mod", "download", "-json", kubernetes+"@"+t.version)
	if err != nil {
		return "", fmt.Errorf("download Kubernetes %s: %w", t.version, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		return "", fmt.Errorf("download Kubernetes %s: %w", t.version, err)
	}
	return module.Dir, nil
}

// staging are the modules that Kubernetes has in its own repository.
func (t target) staging(ctx context.Context) ([]string, error) {
	text, err := run(ctx, t.module, "mod", "edit", "-json")
	if err != nil {
		return nil, err
	}
	var module struct {
		Replace []struct{ Old, New struct{ Path string } }
	}
	if err := json.Unmarshal([]byte(text), &module); err != nil {
		return nil, fmt.Errorf("read the go.mod of Kubernetes %s: %w", t.version, err)
	}
	var paths []string
	for _, replace := range module.Replace {
		if strings.HasPrefix(replace.New.Path, "./staging/") {
			paths = append(paths, replace.Old.Path)
		}
	}
	return paths, nil
}
