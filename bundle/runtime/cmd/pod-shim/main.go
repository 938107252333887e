// Command pod-shim is the shim that containerd starts for each pod: its own for runc,
// with package sandbox in front of it and package container in runc's place. Package deleted
// spares starts of it.
package main

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/containerd/v2/pkg/sys/reaper"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/go-runc"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
	_ "github.com/opencontainers/cgroups/devices" // has cgroups allow and refuse devices

	"github.com/lifepod/lifepod/bundle/runtime/container"
	"github.com/lifepod/lifepod/bundle/runtime/container/children"
	"github.com/lifepod/lifepod/bundle/runtime/container/filters"
	"github.com/lifepod/lifepod/bundle/runtime/deleted"
	"github.com/lifepod/lifepod/bundle/runtime/loops"
	"github.com/lifepod/lifepod/bundle/runtime/output"
	"github.com/lifepod/lifepod/bundle/runtime/sandbox"
)

// The library of runc has threads join a container's namespace and end. The first thread can't
// end: it would hold the namespace.
func init() { runtime.LockOSThread() }

func main() {
	registry.Register(&plugin.Registration{
		Type:     plugins.TTRPCPlugin,
		ID:       "task",
		Requires: []plugin.Type{plugins.EventPlugin, plugins.InternalPlugin},
		InitFn:   newService,
	})
	carried, err := sandbox.CarriedRunc()
	if err == nil {
		// For who cleans up after a container. A shim that serves one has children to reap: newService.
		runc.Monitor = &container.Monitor{Programs: runc.Monitor, Runc: carried, Children: &children.Reaper{}}
	}
	shim.RunShim(context.Background(), sandbox.NewShim(), func(c *shim.Config) {
		c.NoReaper = true // package container reaps children
	})
}

func newService(ic *plugin.InitContext) (any, error) {
	spareCollector()
	publisher, err := ic.GetByID(plugins.EventPlugin, "publisher")
	if err != nil {
		return nil, err
	}
	end, err := ic.GetByID(plugins.InternalPlugin, "shutdown")
	if err != nil {
		return nil, err
	}
	carried, err := sandbox.CarriedRunc()
	if err != nil {
		return nil, err
	}
	reaping := &children.Reaper{}
	reaping.Start(ic.Context)
	tasks, err := task.NewTaskService(ic.Context, publisher.(shim.Publisher), end.(shutdown.Service))
	if err != nil {
		return nil, err
	}
	kept := filters.Cache(filepath.Join(filepath.Dir(filepath.Dir(carried)), "filters")) // beside bin
	runc.Monitor = &container.Monitor{Programs: reaper.Default, Runc: carried, Children: reaping, Provide: kept.Provide}
	return deleted.Service{TTRPCTaskService: sandbox.NewService(output.Service{TTRPCTaskService: loops.Service{TTRPCTaskService: tasks}}, publisher.(shim.Publisher))}, nil
}
