package run

import (
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/worker"
)

// serve lets the commands of other terminals see and steer the pod.
func serve(runtime *host.Runtime, object *control.Object, worker *worker.Worker, from servedFrom) (*control.Server, error) {
	paths, err := bundle.Locate(runtime.Root, "")
	if err != nil {
		return nil, err
	}
	return control.Serve(control.Config{
		Folder: control.Folder(paths.RunDir), Object: object, Post: worker.Post,
		Runtime: runtime.Client.Runtime, LogDir: from.logDir, Admission: admitter{}, Log: from.log,
	})
}

// servedFrom is what a server needs beside runtime and pod.
type servedFrom struct {
	logDir string // of the pod
	log    *slog.Logger
}

// admitter is what an API server does to changes of a pod.
type admitter struct{}

func (admitter) WithEphemeralContainer(pod *v1.Pod, c v1.EphemeralContainer) (*v1.Pod, error) {
	return manifest.WithEphemeralContainer(pod, c)
}

func (admitter) WithResources(pod, requested *v1.Pod) (*v1.Pod, error) {
	return manifest.WithResources(pod, requested)
}

// noted is a worker whose requests to stop are seen by other terminals, too.
type noted struct {
	object *control.Object
	worker *worker.Worker
}

// Stop asks for the pod's end.
func (n noted) Stop(request lifecycle.StopRequested) {
	n.object.StopRequested(time.Now(), request)
	n.worker.Stop(request)
}
