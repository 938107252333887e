package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

// OCIRuntime is what makes the containers of pods that name no RuntimeClass: empty is the
// carried runc, as is Runc. It is the value of a flag.
type OCIRuntime string

// RuntimeUsage is the flag's help.
const RuntimeUsage = "what makes containers: runc, which lifepod carries and uses by default, or crun, if this machine has it"

// Crun is this machine's crun, which has to be able to make containers here.
const (
	Runc OCIRuntime = "runc"
	Crun OCIRuntime = "crun"
)

// String is its name, empty if none was said.
func (o *OCIRuntime) String() string { return string(*o) }

// Set takes its name.
func (o *OCIRuntime) Set(text string) error {
	switch OCIRuntime(text) {
	case Runc, Crun:
		*o = OCIRuntime(text)
		return nil
	}
	return errors.New("want runc or crun")
}

// Type is for the help of the flag.
func (*OCIRuntime) Type() string { return "runtime" }

// crunHandler is the name of the handler that runs containers with crun. runc's is the
// default one, so that pods of both are side by side, and each keeps its own.
const crunHandler = "crun"

// Handler is the runtime handler of pods that name no RuntimeClass; empty is the default one.
func (r *Runtime) Handler() string {
	if r.supervisor.daemon.crun == "" {
		return ""
	}
	return crunHandler
}

// settleCrun finds the program of the wanted runtime; empty is the carried runc.
func (p Paths) settleCrun(ctx context.Context, wanted OCIRuntime) (program string, err error) {
	if wanted != Crun {
		return "", nil
	}
	found, err := UsableCrun(ctx, p.RunDir, p.usesSystemd())
	if err != nil {
		return "", fmt.Errorf("--runtime crun: %w; without that flag containers are made by the runc that lifepod carries", err)
	}
	return found.Path, nil
}

// chooseCrun is the crun that containerd has a handler of: the one that is wanted now, else
// the one of earlier pods. They need it as long as containerd knows any: without it, it would
// not find their containers.
func (d *daemon) chooseCrun() (program string, err error) {
	if d.crun != "" {
		return d.crun, replaceFile(d.paths.crunRecord(), []byte(d.crun+"\n"))
	}
	text, err := os.ReadFile(d.paths.crunRecord())
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("find the crun of earlier pods: %w", err)
	}
	sandboxes, err := os.ReadDir(d.paths.sandboxes())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for earlier pods: %w", err)
	}
	if len(sandboxes) == 0 {
		return "", os.Remove(d.paths.crunRecord())
	}
	return strings.TrimSpace(string(text)), nil
}

// ociHandlers are the runtime handlers of containerd, without the user's.
func ociHandlers(p Paths, h host) table {
	handlers := table{"runc": runcHandler(p, h.systemd)}
	if h.crun != "" {
		handler := runcHandler(p, h.systemd)
		merge(handler, table{"options": table{"BinaryName": h.crun, "Root": filepath.Join(p.RunDir, "crun")}})
		handlers[crunHandler] = handler
	}
	return handlers
}

// expectCrun is an error if containerd, which answers, has no handler of crun. Then another
// process supervises it, which has not been told to use crun.
func (r *Runtime) expectCrun(ctx context.Context) error {
	if r.Handler() == "" {
		return nil
	}
	client, err := cri.Dial(r.Endpoint())
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it was only asked
	answer, err := cri.Again(ctx, func(ctx context.Context) (*runtimeapi.StatusResponse, error) {
		return client.Runtime.Status(ctx, &runtimeapi.StatusRequest{})
	})
	if err != nil {
		return fmt.Errorf("ask the container runtime for its handlers: %s", cri.Text(err))
	}
	for _, handler := range answer.GetRuntimeHandlers() {
		if handler.GetName() == crunHandler {
			return nil
		}
	}
	return fmt.Errorf("--runtime crun: the containerd of %s was started for runc alone by process %d, which supervises it: "+
		"end that lifepod first, or use another --root", r.paths.Root, holder(r.paths.supervisorLock()))
}
