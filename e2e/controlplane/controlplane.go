package controlplane

import (
	"context"
	"errors"
	"os"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/e2e/machine"
)

// ControlPlane is a running control plane. Its methods may be called
// concurrently, but for StopAPIServer, StartAPIServer and Close.
type ControlPlane struct {
	parts    *Parts // nil: it is lifepod up
	dir      string
	binaries string
	up       string // the program of lifepod up
	port     int    // of the API server
	ca       *authority
	admin    *rest.Config
	client   kubernetes.Interface

	apiServer                    *machine.Process // lifepod up, or a part
	etcd, scheduler, controllers *machine.Process // parts
}

// Start starts a control plane, that of lifepod up unless $LIFEPOD_CONTROLPLANE says otherwise, and
// returns when it is ready: pods can be created in the namespace "default", and nodes can join.
// After an error nothing is left of it; the error has the end of the logs.
func Start(ctx context.Context) (*ControlPlane, error) {
	if isOther() {
		return StartParts(ctx, Parts{})
	}
	return start(ctx, &ControlPlane{})
}

// StartParts is Start of separate parts.
func StartParts(ctx context.Context, parts Parts) (*ControlPlane, error) {
	return start(ctx, &ControlPlane{parts: &parts})
}

func start(ctx context.Context, c *ControlPlane) (*ControlPlane, error) {
	if err := c.prepare(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	if err := c.startAll(ctx); err != nil {
		return nil, errors.Join(c.withLogs(err), c.Close())
	}
	c.markLogs()
	return c, nil
}

// prepare makes all that is needed before the first process can start.
func (c *ControlPlane) prepare() error {
	if err := c.findPrograms(); err != nil {
		return err
	}
	var err error
	if c.dir, err = os.MkdirTemp("", "lp-controlplane-"); err != nil {
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

// Dir is the folder of all files, the logs of the processes (NAME.log) among them.
func (c *ControlPlane) Dir() string { return c.dir }

// PIDs are the processes, of separate parts etcd, API server, scheduler and controllers in this order.
func (c *ControlPlane) PIDs() (pids []int) {
	for _, p := range c.processes() {
		pids = append(pids, p.PID())
	}
	return pids
}

// Close kills all processes, none of which has data that an orderly end would save, and
// removes all files. A second call does nothing.
func (c *ControlPlane) Close() error {
	var errs []error
	for _, p := range c.processes() {
		errs = append(errs, p.Kill())
	}
	if c.dir == "" {
		return errors.Join(errs...)
	}
	if c.parts == nil {
		errs = append(errs, c.state().RemoveCluster())
	}
	return errors.Join(append(errs, os.RemoveAll(c.dir))...)
}

// processes are all that were started.
func (c *ControlPlane) processes() []*machine.Process {
	var started []*machine.Process
	for _, p := range []*machine.Process{c.etcd, c.apiServer, c.scheduler, c.controllers} {
		if p != nil {
			started = append(started, p)
		}
	}
	return started
}
