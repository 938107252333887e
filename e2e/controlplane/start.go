package controlplane

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long a part may take on a machine that is very busy, and how often it
// is asked: the API server tells nobody when it is ready.
const (
	patience    = 2 * time.Minute
	askInterval = 20 * time.Millisecond
)

// startAll starts the parts in the order in which they need one another. One that
// finds the other not ready would look again a second later.
func (c *ControlPlane) startAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var err error
	if c.etcd, err = c.startPart("etcd", c.etcdFlags()); err != nil {
		return err
	}
	if err := c.startAPIServer(); err != nil {
		return err
	}
	if err := c.await(ctx, "the API server to be ready", c.ready); err != nil {
		return err
	}
	if c.controllers, err = c.startPart("kube-controller-manager", c.controllerFlags()); err != nil {
		return err
	}
	if c.scheduler, err = c.startPart("kube-scheduler", c.schedulerFlags()); err != nil {
		return err
	}
	if err := c.letNodesJoin(ctx); err != nil {
		return err
	}
	return c.await(ctx, `the namespace "default" to have its service account and authority`, c.hasDefaults)
}

func (c *ControlPlane) startAPIServer() error {
	var err error
	c.apiServer, err = c.startPart("kube-apiserver", c.apiServerFlags())
	return err
}

// StopAPIServer kills the API server: connections break, new ones are refused.
// The other parts stay and wait for it.
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
		for _, p := range c.parts() {
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

// hasDefaults looks for what a pod needs of its namespace.
func (c *ControlPlane) hasDefaults(ctx context.Context) error {
	if _, err := c.client.CoreV1().ServiceAccounts(v1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{}); err != nil {
		return err
	}
	_, err := c.client.CoreV1().ConfigMaps(v1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
	return err
}
