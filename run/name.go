package run

import (
	"context"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
)

// lockNames keeps other lifepods of the root from taking a name, or a port, meanwhile.
// The kernel releases it when the process dies.
func lockNames(root string) (release func(), err error) {
	file, err := os.OpenFile(rootfolder.Names.In(root), os.O_RDWR|os.O_CREATE, 0o600)
	if err == nil {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the names of pods: %w", err)
	}
	return func() { _ = file.Close() }, nil
}

// checkName refuses a pod whose name another one of the root has: as with an API
// server, a namespace has one pod of a name. Call it with the names locked.
func checkName(root string, pod *v1.Pod) error {
	same, err := sameName(root, pod)
	if err != nil || len(same) == 0 {
		return err
	}
	name, other := pod.Namespace+"/"+pod.Name, same[0]
	stop := bundle.Command(root, "stop "+name)
	if other.held() {
		return fmt.Errorf("pod %s exists already, the lifepod run with PID %d runs it: end it with `%s`, or give this one another name with --name", name, other.PID, stop)
	}
	return fmt.Errorf("pod %s exists already, with another spec: its lifepod run was killed, and it runs on unattended: --new ends it first, and so does `%s`", name, stop)
}

func sameName(root string, pod *v1.Pod) ([]*record, error) {
	list, err := records(root)
	return slices.DeleteFunc(list, func(r *record) bool {
		return r.UID == pod.UID || r.Namespace != pod.Namespace || r.Name != pod.Name
	}), err
}

// endSameName ends, for --new, the unattended pods with the name of this one.
func (r *runOf) endSameName(ctx context.Context, warn warner) error {
	pod := r.set.Pod
	same, err := sameName(r.runtime.Root, pod)
	if err != nil {
		return err
	}
	for _, other := range same {
		left, err := abandoned(other.path)
		if err != nil {
			return err
		}
		if left == nil {
			continue // its lifepod lives
		}
		name := pod.Namespace + "/" + pod.Name
		if left.Endpoint != r.runtime.Endpoint {
			left.leave()
			return fmt.Errorf("pod %s exists already, on another runtime: `%s` ends it", name, bundle.Command(r.runtime.Root, "stop "+name))
		}
		warn("ending pod %s, whose lifepod run was killed", name)
		e := ending{runtime: r.runtime, record: left, log: r.options.Log, warn: warn}
		if err := e.run(ctx, lifecycle.StopRequested{Because: lifecycle.Because{Text: "lifepod run --new"}}); err != nil {
			return err
		}
	}
	return nil
}
