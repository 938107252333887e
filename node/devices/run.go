package devices

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	registerapi "k8s.io/kubelet/pkg/apis/pluginregistration/v1"

	"github.com/lifepod/lifepod/internal/pluginsocket"
	"github.com/lifepod/lifepod/lifecycle"
)

// Run moves containers, and remembers who has what, until ctx ends.
func (r *Resources) Run(ctx context.Context) {
	var beside sync.WaitGroup
	defer beside.Wait()
	if r.rules.CPUs != nil {
		beside.Go(func() { r.Containers.Run(ctx) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.dirty:
			if err := r.remember(); err != nil {
				r.config.Log.WarnContext(ctx, "CPUs or memory may be taken for given that are not, after the agent's next start", "err", err)
			}
		}
	}
}

// remember writes the state files.
func (r *Resources) remember() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return SaveExclusive(r.config.Dir, r.has)
}

// Carried is told what was carried out for a pod (worker.Watch).
func (r *Resources) Carried(pod *v1.Pod, effect lifecycle.Effect, answer lifecycle.Fact, _ time.Duration) {
	switch e := effect.(type) {
	case lifecycle.CreateContainer:
		if r.rules.Memory != nil && answer.(lifecycle.ContainerCreated).Failure == nil {
			r.mu.Lock()
			r.has.Started(pod, e.Container) // init containers before it have ended (A-NUMA-13)
			r.mu.Unlock()
			r.dirty.Send()
		}
	case lifecycle.StartContainer:
		if r.rules.CPUs != nil { // those that are shared may be others since it was created
			r.Containers.Look(e.ContainerID, pod.UID, e.Container)
		}
	}
}

// socket is what is under way for the socket of a path.
type socket struct {
	is   identity // zero: it is gone
	end  context.CancelFunc
	left chan pluginRegistration // gets, at the end, what is still registered
}

// pluginRegistration is a plugin that is registered; the zero value is none.
type pluginRegistration struct {
	handler        PluginHandler
	name, endpoint string
}

func (r pluginRegistration) deregister() {
	if r.handler != nil {
		r.handler.Deregister(r.name, r.endpoint)
	}
}

// Deadlines of calls to a plugin (A-PLUG-2).
const (
	infoTimeout   = time.Second
	notifyTimeout = 5 * time.Second
)

// pause is how long to wait between tries to register: a plugin may make its socket a
// moment before it listens there. Kubernetes waits 500 ms before the second one.
func pause() wait.Backoff {
	return wait.Backoff{Duration: 20 * time.Millisecond, Factor: 2, Steps: 14, Cap: 2 * time.Minute}
}

// serve registers the plugin of a socket, however often it takes, until ctx ends, and gives
// back what is registered then. was is the plugin of the socket before.
func (w *PluginWatcher) serve(ctx context.Context, path string, now identity, was pluginRegistration) pluginRegistration {
	if now == (identity{}) {
		was.deregister()
		return pluginRegistration{}
	}
	for again := pause(); ctx.Err() == nil; {
		is, err := w.register(ctx, path)
		if err == nil {
			if was != is {
				was.deregister()
			}
			w.log.InfoContext(ctx, "registered plugin", "name", is.name, "endpoint", is.endpoint)
			<-ctx.Done()
			return is
		}
		was.deregister()
		was = pluginRegistration{}
		next, level := again.Step(), slog.LevelDebug
		if next > time.Second {
			level = slog.LevelWarn
		}
		w.log.Log(ctx, level, "register plugin", "socket", path, "err", err, "again in", next)
		select {
		case <-ctx.Done():
		case <-time.After(next):
		}
	}
	return was
}

// register asks a plugin who it is, takes it into use and tells it so, or why not (A-PLUG-2).
func (w *PluginWatcher) register(ctx context.Context, path string) (_ pluginRegistration, err error) {
	connection, err := pluginsocket.Client(path)
	if err != nil {
		return pluginRegistration{}, fmt.Errorf("RegisterPlugin error -- dial failed at socket %s, err: %w", path, err)
	}
	defer func() { err = errors.Join(err, connection.Close()) }()
	plugin := registerapi.NewRegistrationClient(connection)
	asking, cancel := context.WithTimeout(ctx, infoTimeout)
	defer cancel()
	info, err := plugin.GetInfo(asking, &registerapi.InfoRequest{})
	if err != nil {
		return pluginRegistration{}, fmt.Errorf("RegisterPlugin error -- failed to get plugin info using RPC GetInfo at socket %s, err: %w", path, err)
	}
	is := pluginRegistration{handler: w.handlers[info.Type], name: info.Name, endpoint: info.Endpoint}
	if is.endpoint == "" {
		is.endpoint = path
	}
	if err := is.take(ctx, info, path); err != nil {
		return pluginRegistration{}, errors.Join(err, notify(ctx, plugin, err))
	}
	if err := notify(ctx, plugin, nil); err != nil && ctx.Err() == nil {
		is.deregister()
		return pluginRegistration{}, fmt.Errorf("RegisterPlugin error -- failed to send registration status at socket %s, err: %w", path, err)
	}
	return is, nil
}

func (r pluginRegistration) take(ctx context.Context, info *registerapi.PluginInfo, path string) error {
	if r.handler == nil {
		return fmt.Errorf("RegisterPlugin error -- no handler registered for plugin type: %s at socket %s", info.Type, path)
	}
	if err := r.handler.Validate(r.name, r.endpoint, info.SupportedVersions); err != nil {
		return fmt.Errorf("RegisterPlugin error -- plugin validation failed with err: %w", err)
	}
	if err := r.handler.Register(ctx, r.name, r.endpoint, info.SupportedVersions); err != nil {
		return fmt.Errorf("RegisterPlugin error -- plugin registration failed with err: %w", err)
	}
	return nil
}

// notify tells a plugin that it is registered, or why it is not.
func notify(ctx context.Context, plugin registerapi.RegistrationClient, why error) error {
	ctx, cancel := context.WithTimeout(ctx, notifyTimeout)
	defer cancel()
	status := &registerapi.RegistrationStatus{PluginRegistered: why == nil}
	if why != nil {
		status.Error = why.Error()
	}
	_, err := plugin.NotifyRegistrationStatus(ctx, status)
	return err
}
