package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/e2e/machine"
)

// patience is how long a part may take.
var patience = machine.Patience

// askInterval is how often a part is asked: the API server tells nobody when it is ready.
const askInterval = 20 * time.Millisecond

// startAll starts the processes in the order in which they need one another. One that
// finds the other not ready would look again a second later.
func (c *ControlPlane) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if c.parts != nil {
		var err error
		if c.etcd, err = c.startProgram(c.Binary("etcd"), c.etcdFlags()); err != nil {
			return err
		}
	}
	if err := c.startAPIServer(); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server to be ready", c.ready); err != nil {
		return err
	}
	if c.parts != nil {
		if err := c.startOthers(ctx); err != nil {
			return err
		}
	}
	return c.await(ctx, `what nodes and pods in the namespace "default" need to be there`, c.hasDefaults)
}

func (c *ControlPlane) startAPIServer() (err error) {
	program, flags := c.up, c.upFlags()
	if c.parts != nil {
		program, flags = c.Binary("kube-apiserver"), c.apiServerFlags()
	}
	c.apiServer, err = c.startProgram(program, flags)
	return err
}

// startOthers starts the parts that need the API server.
func (c *ControlPlane) startOthers(ctx context.Context) (err error) {
	if c.controllers, err = c.startProgram(c.Binary("kube-controller-manager"), c.controllerFlags()); err != nil {
		return err
	}
	if c.scheduler, err = c.startProgram(c.Binary("kube-scheduler"), c.schedulerFlags()); err != nil {
		return err
	}
	return c.letNodesJoin(ctx)
}

// startProgram starts a program in the control plane's folder, with its log there as
// NAME.log. One that is started again continues its log.
func (c *ControlPlane) startProgram(program string, flags []string) (*machine.Process, error) {
	cmd := exec.Command(program, flags...)
	cmd.Dir = c.dir
	// Nothing of the caller's environment, a proxy for one, may reach it.
	cmd.Env = []string{"HOME=" + c.dir, "PATH=" + os.Getenv("PATH")}
	return machine.StartProcess(cmd, c.file(filepath.Base(program)+".log"))
}

// StopAPIServer kills the API server: connections break, new ones are refused.
// Separate parts stay and wait for it; with lifepod up all that there is ends.
func (c *ControlPlane) StopAPIServer() error { return c.apiServer.Kill() }

// StartAPIServer starts the API server again, at the same address and with the
// same data, and returns when it is ready.
func (c *ControlPlane) StartAPIServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if !c.apiServer.HasEnded() {
		return errors.New("start the API server: it is running")
	}
	if err := c.startAPIServer(); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server to be ready again", c.ready); err != nil {
		return c.withLogs(err)
	}
	c.apiServer.MarkLog()
	return nil
}

// await asks until the answer is nil.
func (c *ControlPlane) await(ctx context.Context, what string, ask func(context.Context) error) error {
	ticker := time.NewTicker(askInterval)
	defer ticker.Stop()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		for _, p := range c.processes() {
			if p.HasEnded() {
				return fmt.Errorf("wait for %s: %s has ended", what, p.Name)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w (the last answer: %w)", what, ctx.Err(), err)
		case <-ticker.C:
		}
	}
}

func (c *ControlPlane) ready(ctx context.Context) error {
	return c.client.CoreV1().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// hasDefaults looks for what a pod needs of its namespace, and a node that joins of the cluster.
func (c *ControlPlane) hasDefaults(ctx context.Context) error {
	if _, err := c.client.CoreV1().ServiceAccounts(v1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	if _, err := c.client.CoreV1().ConfigMaps(v1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{}); err != nil {
		return err
	}
	for _, b := range bootstrapBindings {
		if _, err := c.client.RbacV1().ClusterRoleBindings().Get(ctx, b.name, metav1.GetOptions{}); err != nil {
			return err
		}
	}
	return nil
}
