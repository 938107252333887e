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

// isOther says whether the control plane is of another version, or somebody's own.
func isOther() bool { return os.Getenv(binariesVariable) != "" }

// FindBinaries is the folder of Kubernetes' programs that were built for tests,
// .cache/controlplane/bin of the repository that holds the working directory.
// $LIFEPOD_CONTROLPLANE names another one.
func FindBinaries() (string, error) {
	if isOther() {
		return filepath.Abs(os.Getenv(binariesVariable))
	}
	cache, err := findCache()
	return filepath.Join(cache, "controlplane", "bin"), err
}

// findCache is the folder with what make has built.
func findCache() (string, error) {
	working, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := working; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "cluster", "go.mod")); err == nil {
			return filepath.Join(dir, ".cache"), nil
		}
	}
	return "", fmt.Errorf("find the control plane's programs: %s is not in lifepod's repository", working)
}

// Binary is the path of a program that was built for tests by its name, such as kubelet, which
// `make kubelet` builds.
func (c *ControlPlane) Binary(name string) string { return filepath.Join(c.binaries, name) }

// findPrograms says early and once what is missing.
func (c *ControlPlane) findPrograms() (err error) {
	if c.binaries, err = FindBinaries(); err != nil {
		return err
	}
	if c.parts == nil {
		return c.findUp()
	}
	for _, name := range []string{"etcd", "kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl"} {
		if err := checkBuilt(c.Binary(name), "controlplane"); err != nil {
			return err
		}
	}
	return nil
}

// findUp finds the program that bin/lifepod carries and becomes as lifepod up. Started directly, it need not be unpacked
// for each control plane, and it dies with its caller (PR_SET_PDEATHSIG): the kernel keeps that for the first thread only,
// and bin/lifepod becomes the program on any of its threads.
func (c *ControlPlane) findUp() error {
	cache, err := findCache()
	if err != nil {
		return err
	}
	c.up = filepath.Join(cache, "cluster", "bin", "lifepod")
	return checkBuilt(c.up, "build")
}

func checkBuilt(program, target string) error {
	_, err := os.Stat(program)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: run `make %s` first", program, target)
	}
	return err
}
