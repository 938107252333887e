package controlplane

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// binariesVariable names the variable with a folder of other parts, as those of another
// version of Kubernetes.
const binariesVariable = "LIFEPOD_CONTROLPLANE"

// FindBinaries is the folder of the parts that `make controlplane` built,
// .cache/controlplane/bin of the repository that holds the working directory.
// $LIFEPOD_CONTROLPLANE names another one.
func FindBinaries() (string, error) {
	if dir := os.Getenv(binariesVariable); dir != "" {
		return dir, nil
	}
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cluster", "go.mod")); err == nil {
			return filepath.Join(dir, ".cache", "controlplane", "bin"), nil
		}
	}
	return "", fmt.Errorf("find the control plane's programs: %s is not in lifepod's repository; set %s to their folder", working, binariesVariable)
}

// Binary is the path of a program by its name: kube-apiserver, kubectl, and
// kubelet if `make kubelet` built it.
func (c *ControlPlane) Binary(name string) string { return filepath.Join(c.binaries, name) }

// checkBinaries says early and once what is missing.
func (c *ControlPlane) checkBinaries() error {
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl"} {
		_, err := os.Stat(c.Binary(name))
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%s is missing: run `make controlplane` first", c.Binary(name))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
