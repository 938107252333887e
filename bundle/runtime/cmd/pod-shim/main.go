// Command pod-shim is the shim that containerd starts for each pod: its own for runc,
// with package sandbox in front of it.
package main

import (
	"context"

	"github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2/task"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/containerd/v2/pkg/shutdown"
	"github.com/containerd/containerd/v2/plugins"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"

	"github.com/lifepod/lifepod/bundle/runtime/sandbox"
)

func main() {
	registry.Register(&plugin.Registration{
		Type:     plugins.TTRPCPlugin,
		ID:       "task",
		Requires: []plugin.Type{plugins.EventPlugin, plugins.InternalPlugin},
		InitFn:   newService,
	})
	shim.RunShim(context.Background(), sandbox.NewShim())
}

func newService(ic *plugin.InitContext) (any, error) {
	publisher, err := ic.GetByID(plugins.EventPlugin, "publisher")
	if err != nil {
		return nil, err
	}
	end, err := ic.GetByID(plugins.InternalPlugin, "shutdown")
	if err != nil {
		return nil, err
	}
	tasks, err := task.NewTaskService(ic.Context, publisher.(shim.Publisher), end.(shutdown.Service))
	if err != nil {
		return nil, err
	}
	return sandbox.NewService(tasks, publisher.(shim.Publisher)), nil
}
