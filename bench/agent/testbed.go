package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

// testbed is what both sides are measured on: one containerd, one control plane,
// watches that see what its users would see.
type testbed struct {
	plan
	log       *slog.Logger
	root      string
	runtime   *bundle.Runtime
	client    *cri.Client
	floor     *bare.Runtime
	cgroups   podcgroup.Driver // of lifepod's pods
	plane     *controlplane.ControlPlane
	api       kubernetes.Interface
	pods      *board[*v1.Pod]
	endpoints *board[*discoveryv1.EndpointSlice]
	sides     []*side

	closers []func() error // in the order of their need, the last first
}

func open(ctx context.Context, p plan, log *slog.Logger) (*testbed, error) {
	s := &testbed{plan: p, log: log}
	for _, step := range []func(context.Context) error{s.openRuntime, s.openFloor, s.openCgroup, s.openPlane, s.openBoards, s.addSides} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	return s, nil
}

func (s *testbed) onClose(f func() error) { s.closers = append(s.closers, f) }

// close ends everything and removes all files.
func (s *testbed) close() error {
	progress("cleaning up")
	var errs []error
	for _, closer := range slices.Backward(s.closers) {
		errs = append(errs, closer())
	}
	s.closers = nil
	return errors.Join(errs...)
}

func (s *testbed) openRuntime(ctx context.Context) (err error) {
	if s.root, err = os.MkdirTemp("", "lifepod-bench-"); err != nil {
		return err
	}
	s.onClose(func() error { return os.RemoveAll(s.root) })
	if s.runtime, err = bundle.Open(ctx, bundle.Config{Root: s.root, Log: s.log}); err != nil {
		return err
	}
	s.onClose(func() error { return within(time.Minute, s.runtime.Close) })
	if _, err := s.runtime.ImportImages(ctx); err != nil {
		return err
	}
	if s.client, err = cri.Dial(s.runtime.Endpoint()); err != nil {
		return err
	}
	s.onClose(s.client.Close)
	s.onClose(func() error { return within(patience, s.sweepRuntime) })
	return nil
}

// within calls something that has to be done even if the user wants an end.
func within(timeout time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return do(ctx)
}

func (s *testbed) openFloor(context.Context) error {
	node, err := host.NewNode(host.NodeConfig{Runtime: s.client, Root: s.root,
		CgroupParent: strings.TrimPrefix(s.runtime.CgroupParent(), "/"), IPAMDir: s.runtime.Paths().IPAM(), Log: s.log})
	if err != nil {
		return err
	}
	s.floor = &bare.Runtime{Client: s.client, Node: node.Config, CgroupOf: node.Cgroups.Path, Log: s.log}
	s.beside(s.floor.Run)
	return nil
}

// openCgroup names a cgroup for lifepod's pods, as member does for a kubelet's: in
// the machine's may be the pods of a real node, whose kubelet kills what it doesn't
// know.
func (s *testbed) openCgroup(context.Context) error {
	own := podcgroup.Driver{Parent: filepath.Base(s.root)}
	s.cgroups = podcgroup.Driver{Parent: own.Parent + "/kubepods"}
	s.onClose(own.RemoveParents)
	return nil
}

// beside runs something until close.
func (s *testbed) beside(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	s.onClose(func() error { cancel(); running.Wait(); return nil })
}

func (s *testbed) openPlane(ctx context.Context) (err error) {
	if s.plane, err = controlplane.Start(ctx, controlplane.Config{}); err != nil {
		return err
	}
	s.onClose(s.plane.Close)
	kubelet := s.plane.Binary("kubelet")
	if _, err := os.Stat(kubelet); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: run `make kubelet` first", kubelet)
	}
	s.api, err = kubernetes.NewForConfig(s.plane.RESTConfig())
	return err
}

func (s *testbed) openBoards(ctx context.Context) error {
	s.pods, s.endpoints = newBoard[*v1.Pod](), newBoard[*discoveryv1.EndpointSlice]()
	s.beside(func(ctx context.Context) { s.pods.run(ctx, s.api.CoreV1().Pods(namespace).Watch) })
	s.beside(func(ctx context.Context) { s.endpoints.run(ctx, s.api.DiscoveryV1().EndpointSlices(namespace).Watch) })
	return s.createService(ctx)
}
