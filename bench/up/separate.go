package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/member"
)

// separate is a control plane of upstream's programs and a kubelet. Each start is
// with an empty state.
type separate struct {
	runtime *bundle.Runtime // stays from start to start
	root    string
	plane   *controlplane.ControlPlane
	kubelet *member.Member
}

func (s *separate) name() string { return separateSide }

func (s *separate) start(ctx context.Context) (*rest.Config, error) {
	binaries, err := controlplane.FindBinaries()
	if err != nil {
		return nil, err
	}
	if err := s.openRuntime(ctx); err != nil {
		return nil, err
	}
	if s.plane, err = controlplane.StartParts(ctx, controlplane.Parts{Sync: true}); err != nil {
		return nil, err
	}
	s.kubelet, err = member.Start(ctx, member.Config{Plane: s.plane, Program: filepath.Join(binaries, "kubelet"),
		Kubelet: map[string]any{"containerRuntimeEndpoint": s.runtime.Endpoint(), "maxPods": 110}})
	return s.plane.RESTConfig(), err
}

func (s *separate) openRuntime(ctx context.Context) (err error) {
	if s.runtime != nil {
		return nil
	}
	if s.root, err = os.MkdirTemp("", "lp-bench-up-"); err != nil {
		return err
	}
	if s.runtime, err = bundle.Open(ctx, bundle.Config{Root: s.root}); err != nil {
		return err
	}
	_, err = s.runtime.ImportImages(ctx)
	return err
}

func (s *separate) ready(ctx context.Context) error { return s.kubelet.AwaitReady(ctx) }

func (s *separate) pids() []int { return append(s.plane.PIDs(), s.kubelet.Process().PID()) }

func (s *separate) stop(context.Context) error {
	var err error
	if s.kubelet != nil {
		err = s.kubelet.Close()
	}
	if s.plane != nil {
		err = errors.Join(err, s.plane.Close())
	}
	s.plane, s.kubelet = nil, nil
	return err
}

func (s *separate) remove(ctx context.Context) error {
	err := s.stop(ctx)
	if s.runtime != nil {
		err = errors.Join(err, s.runtime.Close(ctx))
	}
	if s.root != "" {
		err = errors.Join(err, os.RemoveAll(s.root))
	}
	return err
}
