package bundle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// OldestCrun is the first version that containers of the carried containerd can be made with.
const OldestCrun = "1.14.3"

// ErrNoCrun means that there is no crun in the folders of PATH.
var ErrNoCrun = errors.New("crun is not installed")

// InstalledCrun is one that is installed.
type InstalledCrun struct {
	Path    string // of the program
	Version string // as it says itself
}

// FindCrun finds the one in the folders of PATH, whatever its version.
func FindCrun(ctx context.Context) (InstalledCrun, error) {
	path, err := exec.LookPath("crun")
	if errors.Is(err, exec.ErrNotFound) {
		return InstalledCrun{}, ErrNoCrun
	}
	if err != nil {
		return InstalledCrun{}, fmt.Errorf("find crun: %w", err)
	}
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return InstalledCrun{}, fmt.Errorf("ask %s for its version: %w", path, err)
	}
	first, _, _ := bytes.Cut(out, []byte("\n"))
	said, found := strings.CutPrefix(string(first), "crun version ")
	if !found {
		return InstalledCrun{}, fmt.Errorf("ask %s for its version: it says %q", path, first)
	}
	return InstalledCrun{Path: path, Version: strings.TrimSpace(said)}, nil
}

// UsableCrun finds the one that containers can be made with on this machine: see [Crun.Check] and
// [Crun.Try].
func UsableCrun(ctx context.Context, dir string, systemd bool) (InstalledCrun, error) {
	c, err := FindCrun(ctx)
	if err == nil {
		err = c.Check()
	}
	if err == nil {
		err = c.Try(ctx, dir, systemd)
	}
	return c, err
}

// Check is an error if it is older than Oldest.
func (c InstalledCrun) Check() error {
	has, err := version.ParseGeneric(c.Version)
	if err != nil {
		return fmt.Errorf("crun %s (%s): its version can't be read: want %s or newer", c.Version, c.Path, OldestCrun)
	}
	if has.LessThan(version.MustParseGeneric(OldestCrun)) {
		return fmt.Errorf("crun %s (%s) is too old: want %s or newer", c.Version, c.Path, OldestCrun)
	}
	return nil
}
