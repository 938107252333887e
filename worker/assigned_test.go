package worker

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

type assigner struct {
	gives criconfig.Assigned
	err   error
}

func (a assigner) Assigned(context.Context, *v1.Pod, *v1.Container) (criconfig.Assigned, error) {
	return a.gives, a.err
}

// A-DEV-1: all parts of the node assign in their order, and a container is not created without one of them.
func TestAssigners(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	claims, devices := assigner{gives: criconfig.Assigned{CDIDevices: []string{"v/c=1"}}}, assigner{gives: criconfig.Assigned{CDIDevices: []string{"v/d=1"}}}
	h := &executor{engine: &Engine{Assigners: []Assigner{claims, devices}}, pod: pod}
	got, err := h.assigned(t.Context(), &pod.Spec.Containers[0])
	diff := cmp.Diff([]string{"v/c=1", "v/d=1"}, got.CDIDevices)
	assert.True(t, diff == "" && err == nil, "assigned (-want +got), error %v:\n%s", err, diff)
	h.engine.Assigners = append(h.engine.Assigners, assigner{err: errors.New("endpoint gone")})
	assert.Fails(t, assert.ErrorOf(h.assigned(t.Context(), &pod.Spec.Containers[0])), "A-DEV-1: no error")
}

// A-CST-7: what this machine lacks files for is no fault of the spec: the create was not made, and is made again soon.
func TestCreateLacksFiles(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	lacks := assigner{err: os.NewSyscallError("open", unix.EMFILE)}
	h := &executor{engine: &Engine{Assigners: []Assigner{lacks}}, pod: pod}
	fact := h.createContainer(t.Context(), lifecycle.CreateContainer{Container: "main"}).(lifecycle.ContainerCreated)
	assert.Deep(t, "failure", &lifecycle.Failure{Class: lifecycle.Unavailable, Message: "open: too many open files"}, fact.Failure)
}

// A-DEV-1: variables of devices are overridden by the container's own, which don't see them; its command does.
func TestAssignedVariables(t *testing.T) {
	pod := podOf("web", v1.RestartPolicyAlways, "main")
	main := &pod.Spec.Containers[0]
	main.Env = []v1.EnvVar{{Name: "OWN", Value: "mine"}, {Name: "SEES", Value: "$(GPU)"}}
	main.Command = []string{"train", "$(GPU)", "$(OWN)"}
	h := &executor{engine: &Engine{API: API{Objects: func(*v1.Pod) Objects { return noObjects{} }}}, pod: pod, results: &results{}}
	got := assert.Get(h.environment(t.Context(), main, nil, []criconfig.KeyValue{{Name: "OWN", Value: "plugin"}, {Name: "GPU", Value: "0"}})).Must(t)
	want := criconfig.Environment{
		Env:     []criconfig.KeyValue{{Name: "GPU", Value: "0"}, {Name: "OWN", Value: "mine"}, {Name: "SEES", Value: "$(GPU)"}},
		Command: []string{"train", "0", "mine"},
	}
	got.Args = nil
	assert.Deep(t, "environment", want, got)
}
