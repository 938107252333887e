package crun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// Oldest is the first version that containers of the carried containerd can be made with.
const Oldest = "1.14.3"

// ErrNotInstalled means that there is no crun in the folders of PATH.
var ErrNotInstalled = errors.New("crun is not installed")

// Crun is one that is installed.
type Crun struct {
	Path    string // of the program
	Version string // as it says itself
}

// Find finds the one in the folders of PATH, whatever its version.
func Find(ctx context.Context) (Crun, error) {
	path, err := exec.LookPath("crun")
	if errors.Is(err, exec.ErrNotFound) {
		return Crun{}, ErrNotInstalled
	}
	if err != nil {
		return Crun{}, fmt.Errorf("find crun: %w", err)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return Crun{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	first, _, _ := bytes.Cut(out, []byte("\n"))
	said, found := strings.CutPrefix(string(first), "crun version ")
	if !found {
		return Crun{}, fmt.Errorf("ask %s for its version: it says %q", path, first)
	}
	return Crun{Path: path, Version: strings.TrimSpace(said)}, nil
}

// Usable finds the one that containers can be made with on this machine: see [Crun.Check] and
// [Crun.Try].
func Usable(ctx context.Context, dir string, systemd bool) (Crun, error) {
	c, err := Find(ctx)
	if err == nil {
		err = c.Check()
	}
	if err == nil {
		err = c.Try(ctx, dir, systemd)
	}
	return c, err
}

// Check is an error if it is older than Oldest.
func (c Crun) Check() error {
	has, err := version.ParseGeneric(c.Version)
	if err != nil {
		return fmt.Errorf("crun %s (%s): its version can't be read: want %s or newer", c.Version, c.Path, Oldest)
	}
	if has.LessThan(version.MustParseGeneric(Oldest)) {
		return fmt.Errorf("crun %s (%s) is too old: want %s or newer", c.Version, c.Path, Oldest)
	}
	return nil
}
