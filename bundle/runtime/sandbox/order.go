package sandbox

import (
	"os"
	"path/filepath"

	taskapi "github.com/containerd/containerd/api/runtime/task/v3"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/typeurl/v2"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox/holder"
	"github.com/lifepod/lifepod/bundle/runtime/sandbox/record"
)

// newOrder reads what is to be made; nil, if a runtime is to make it.
func newOrder(r *taskapi.CreateTaskRequest) (*order, error) {
	opts, err := joining(r)
	if err != nil || opts == nil {
		return nil, err
	}
	plan, fits, err := holder.ReadPlan(r.Bundle)
	if err != nil || !fits {
		return nil, err
	}
	cgroup, err := record.NewCgroup(plan, opts.SystemdCgroup)
	if err != nil {
		return nil, err
	}
	return &order{id: r.ID, bundle: r.Bundle, plan: plan, cgroup: cgroup}, nil
}

// joining returns the options of a request whose runtime is known to make containers that join
// the namespaces of others: the runc beside the shim, or crun. Nil, if it is another.
func joining(r *taskapi.CreateTaskRequest) (*options.Options, error) {
	if r.Options == nil || r.Checkpoint != "" {
		return nil, nil
	}
	decoded, err := typeurl.UnmarshalAny(r.Options)
	if err != nil {
		return nil, err
	}
	opts, ok := decoded.(*options.Options)
	if !ok || opts.BinaryName == "" {
		return nil, nil
	}
	if filepath.Base(opts.BinaryName) == "crun" { // by another name it may make virtual machines
		return opts, nil
	}
	path, err := CarriedRunc()
	if err != nil || !sameFile(path, opts.BinaryName) {
		return nil, err
	}
	return opts, nil
}

// CarriedRunc is the path of the runc beside the shim.
func CarriedRunc() (string, error) { return beside("runc") }

// sameFile says whether both paths lead to one file. Should there be none, the runtime
// says what is wrong.
func sameFile(one, other string) bool {
	a, errA := os.Stat(one)
	b, errB := os.Stat(other)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
