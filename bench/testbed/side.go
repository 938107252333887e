package testbed

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lifepod/lifepod/bench/process"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/member"
)

const (
	Kubelet = "kubelet"
	Lifepod = "lifepod"
)

// Side is the kubelet or lifepod agent.
type Side struct {
	*Testbed
	Name   string
	Member *member.Member
}

// AddNodes makes a node of both, and stops it until it has its turn. The fields are
// those of KubeletConfiguration that both have.
func (s *Testbed) AddNodes(ctx context.Context, fields map[string]any) error {
	ours, err := filepath.Abs(s.config.Lifepod)
	if err != nil {
		return err
	}
	gates, err := controlplane.ParseGates(s.config.Gates)
	if err != nil {
		return err
	}
	if s.config.kubelet, err = s.titleOfKubelet(ctx); err != nil {
		return err
	}
	for _, program := range []string{s.Plane.Binary(Kubelet), ours} {
		name := filepath.Base(program)
		configuration := map[string]any{"containerRuntimeEndpoint": s.runtime.Endpoint()}
		if name == Lifepod {
			configuration["cgroupRoot"] = "/" + filepath.Base(s.root)
		} else if len(gates) > 0 {
			configuration["featureGates"] = gates
		}
		maps.Copy(configuration, fields)
		m, err := member.Start(ctx, member.Config{Plane: s.Plane, Program: program, Name: name, Kubelet: configuration})
		if err != nil {
			return err
		}
		side := &Side{Testbed: s, Name: name, Member: m}
		s.onClose(side.close)
		if err := errors.Join(m.AwaitReady(ctx), m.Stop()); err != nil {
			return err
		}
		s.Sides = append(s.Sides, side)
	}
	return nil
}

// titleOfKubelet asks the kubelet for its version: "kubelet 1.36.3 EventedPLEG=true".
func (s *Testbed) titleOfKubelet(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, s.Plane.Binary(Kubelet), "--version").Output()
	if err != nil {
		return "", fmt.Errorf("version of %s: %w", s.Plane.Binary(Kubelet), err)
	}
	_, version, _ := strings.Cut(strings.TrimSpace(string(text)), " v") // Kubernetes v1.36.3
	return strings.TrimSpace(Kubelet + " " + version + " " + s.config.Gates), nil
}

// Order returns both sides in the order of a block: the first side alternates.
func (s *Testbed) Order(block int) []*Side {
	sides := slices.Clone(s.Sides)
	if block%2 == 1 {
		slices.Reverse(sides)
	}
	return sides
}

// close ends the node with all that is left of it.
func (s *Side) close() error {
	var errs []error
	if s.config.Keep != "" {
		text, err := os.ReadFile(s.Member.LogFile())
		errs = append(errs, err, os.MkdirAll(s.config.Keep, 0o755), os.WriteFile(filepath.Join(s.config.Keep, s.Name+".log"), text, 0o644))
	}
	if !s.Member.Process().HasEnded() { // its turn was broken off
		errs = append(errs, s.Clear(), s.Member.Stop())
	}
	errs = append(errs, within(Patience, s.sweep))
	return errors.Join(append(errs, s.Member.Close())...)
}

// RunWhile runs the node while it is measured, which has to leave no pods.
func (s *Side) RunWhile(ctx context.Context, measure func(context.Context) error) error {
	err := s.Member.Run()
	if err == nil {
		err = s.Member.AwaitHealthy(ctx)
	}
	if err == nil {
		err = measure(ctx)
	}
	if err != nil {
		return fmt.Errorf("%w\nthe end of its log:\n%s", err, s.Member.Process().LastLines(30))
	}
	return errors.Join(s.Member.Stop(), s.sweep(ctx))
}

// CPUTime is what the process has used since its start.
func (s *Side) CPUTime() (time.Duration, error) { return process.CPUTime(s.Member.Process().PID()) }

// Idle watches the process for a while in which its pods do nothing.
func (s *Side) Idle(ctx context.Context, watched time.Duration) (process.Load, error) {
	return process.LoadOf(func() error { return Sleep(ctx, watched) }, s.Member.Process().PID())
}

// Sleep waits, unless ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// KillMain kills the process of a pod's first container after a pause, and says when.
func (s *Side) KillMain(ctx context.Context, pod string) (time.Time, error) {
	s.Pause(ctx)
	id := s.mainOf(pod)
	began := time.Now()
	return began, s.Floor.Kill(ctx, id)
}

// Pause is of random length: whoever looks at containers once a second is as often
// met at the end of that second as at its beginning.
func (s *Side) Pause(ctx context.Context) { _ = Sleep(ctx, 200*time.Millisecond+rand.N(time.Second)) } // who goes on sees that ctx has ended
