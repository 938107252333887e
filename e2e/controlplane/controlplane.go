package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/e2e/machine"
)

// Config is what tests may want different.
type Config struct {
	// Dir is the folder for all files. It must not exist or be empty; Close
	// removes it. By default it is a new one in the folder for temporary files.
	Dir string
	// Binaries is the folder of the programs, by default FindBinaries.
	Binaries string
	// FeatureGates are set at every part that has gates, beside those that
	// lifepod needs and those of $LIFEPOD_CONTROLPLANE_GATES.
	FeatureGates map[string]bool
	// Audit has the API server log what nodes and pods write, see AuditLog.
	Audit bool
	// Profile lets the API server be asked for profiles of itself, at /debug/pprof.
	Profile bool
	// ForPods has the API server listen at all addresses of the machine, where pods reach it. Its certificate has the
	// names of the service "kubernetes", and no address that pods can reach.
	ForPods bool
	// Sync has etcd wait until the disk has what it writes, as it does for its users; tests have no use for that.
	Sync bool
	// QPS is how many requests in a second the scheduler and the controllers make at most; 0: as
	// many as they do by themselves.
	QPS int
}

// ControlPlane is a running control plane. Its methods may be called
// concurrently, but for StopAPIServer, StartAPIServer and Close.
type ControlPlane struct {
	config   Config
	dir      string
	binaries string
	gates    map[string]bool
	port     int // of the API server
	ca       *authority
	admin    *rest.Config
	client   kubernetes.Interface

	etcd, apiServer, scheduler, controllers *machine.Process
}

// PIDs are the processes of the parts.
func (c *ControlPlane) PIDs() []int {
	return []int{c.etcd.PID(), c.apiServer.PID(), c.scheduler.PID(), c.controllers.PID()}
}

// Start starts a control plane and returns when it is ready: pods can be
// created in the namespace "default". After an error nothing is left of it; the
// error has the end of the logs.
func Start(ctx context.Context, config Config) (*ControlPlane, error) {
	c := &ControlPlane{config: config, binaries: config.Binaries}
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(c.withLogs(err), c.Close())
	}
	c.markLogs()
	return c, nil
}

// prepare makes all that is needed before the first part can start.
func (c *ControlPlane) prepare() error {
	if err := c.mergeGates(); err != nil {
		return err
	}
	var err error
	if c.binaries == "" {
		if c.binaries, err = FindBinaries(); err != nil {
			return err
		}
	}
	if c.binaries, err = filepath.Abs(c.binaries); err != nil {
		return err
	}
	if err := c.checkBinaries(); err != nil {
		return err
	}
	if c.dir, err = makeDir(c.config.Dir); err != nil {
		return err
	}
	if c.port, err = machine.FreePort(); err != nil {
		return err
	}
	if err := c.writeFiles(); err != nil {
		return err
	}
	if c.admin, err = clientcmd.BuildConfigFromFlags("", c.Kubeconfig()); err != nil {
		return err
	}
	c.client, err = kubernetes.NewForConfig(c.RESTConfig())
	return err
}

// makeDir makes the folder, which Close removes: it may hold nothing of others.
func makeDir(wanted string) (string, error) {
	if wanted == "" {
		return os.MkdirTemp("", "lp-controlplane-")
	}
	dir, err := filepath.Abs(wanted)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("folder %s for a control plane is not empty: remove it or name another", dir)
	}
	return dir, nil
}

// Dir is the folder of all files, the logs of the parts (NAME.log) among them.
func (c *ControlPlane) Dir() string { return c.dir }

// Close kills all parts, none of which has data that an orderly end would save, and
// removes all files. A second call does nothing.
func (c *ControlPlane) Close() error {
	var errs []error
	for _, p := range c.parts() {
		errs = append(errs, p.Kill())
	}
	if c.dir != "" {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	return errors.Join(errs...)
}

// parts are all that were started, the last one first.
func (c *ControlPlane) parts() []*machine.Process {
	var started []*machine.Process
	for _, p := range []*machine.Process{c.controllers, c.scheduler, c.apiServer, c.etcd} {
		if p != nil {
			started = append(started, p)
		}
	}
	return started
}
