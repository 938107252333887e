package unattended

import (
	"context"
	"errors"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// Ending says which pods of a runtime end, and how.
type Ending struct {
	Kept    []roster.Remembered  // what lifepods have left of their pods
	Foreign func(types.UID) bool // pods that stay; nil: none does
	Grace   *time.Duration       // replaces the grace of each pod; nil: each pod keeps its own, 0: no grace and no hooks
	Because string               // who asks
	Log     *slog.Logger
}

// End ends pods of a runtime whose lifepods have ended without them, each as its own lifepod
// would have, and returns how many there were. Their files stay.
func (e Ending) End(ctx context.Context, r *host.Runtime) (int, error) {
	features, err := r.Features(ctx)
	if err != nil {
		return 0, err
	}
	engine, err := host.NewNode(host.NodeConfig{
		Runtime: r.Client, RuntimeName: r.Name, Containerd: r.ContainerdAPI(), Root: r.Root,
		CgroupParent: r.CgroupParent, Systemd: r.Systemd, IPAMDir: r.IPAMDir,
		Objects: noObjects{}, Features: features, KeepFiles: true, Log: e.Log,
	})
	if err != nil {
		return 0, err
	}
	engine.Folders.Journal = nil // pods may be of several state folders
	request := lifecycle.StopRequested{Because: lifecycle.Because{Text: e.Because}}
	if e.Grace != nil {
		request.Force = *e.Grace <= 0
		request.GraceSeconds = new(int64((*e.Grace + time.Second - 1) / time.Second))
	}
	return pods.Ending{Engine: engine, Kept: e.Kept, Foreign: e.Foreign, Request: request}.Run(ctx)
}

// noObjects says that nothing is known of what a pod's volumes show while it ends.
type noObjects struct{}

var errEnding = errors.New("the pod is ending without its lifepod")

// ConfigMap is always an error.
func (noObjects) ConfigMap(string, string) (*v1.ConfigMap, error) { return nil, errEnding }

// Secret is always an error.
func (noObjects) Secret(string, string) (*v1.Secret, error) { return nil, errEnding }
