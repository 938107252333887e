package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/footprint"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/metrics"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker"
)

// CloseTimeout is how long the bundled runtime may take to stop.
const CloseTimeout = 30 * time.Second

// Run is a node until ctx ends. Its pods run on then: the next Run goes on with
// them. ready is called once, when the node has begun; an error before that has
// left everything as it was.
func Run(ctx context.Context, o Options, ready func()) (err error) {
	if !o.Embedded {
		QuietKlog(o.Log)
	}
	c, err := o.load()
	if err != nil {
		return err
	}
	if text := c.Warning(); text != "" {
		o.Log.Warn(text)
	}
	name, err := register.Hostname(o.HostnameOverride)
	if err != nil {
		return fmt.Errorf("name of the node: %w", err)
	}
	if err := o.check(c); err != nil {
		return err
	}
	if err := rootfolder.Make(o.rootDir(), 0o700); err != nil {
		return err
	}
	release, err := o.memory().Lock()
	if err != nil {
		return err
	}
	defer release()
	runtime, err := host.OpenWith(ctx, o.runtimeEndpoint(c), bundle.Config{Root: o.Root, CNI: &o.CNI, Log: o.Log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRuntime(ctx, runtime)) }()
	counts := metrics.New(metrics.Config{NodeName: name, Version: o.Version, Log: o.Log})
	calls := counts.Runtime(runtime.Conn)
	runtime.Runtime, runtime.Images = runtimeapi.NewRuntimeServiceClient(calls), runtimeapi.NewImageServiceClient(calls)
	features, err := runtime.Features(ctx)
	if err != nil {
		return err
	}
	m := &member{Options: o, name: name, config: c, runtime: runtime, metrics: counts, ready: ready}
	if m.engine, err = newEngine(o, c, runtime, features); err != nil {
		return err
	}
	at := place{
		Command: cmp.Or(o.Command, unattended.Agent), Memory: o.memory().Dir, LogRoot: m.engine.Config.LogRoot, Endpoint: runtime.Endpoint,
	}
	if err := at.save(runtime.Root); err != nil {
		return err
	}
	if !o.Embedded {
		footprint.LimitGarbage()
	}
	m.rest = footprint.NewRest(restTime)
	defer m.rest.Stop()
	return m.run(ctx)
}

// check is an error if there can be no pods, or none could start.
func (o Options) check(c *config.Config) error {
	if !o.inCluster() && c.Kubelet.StaticPodPath == "" && c.Kubelet.StaticPodURL == "" {
		return errors.New("no pods to run: want --kubeconfig for those of a cluster, or --manifests FOLDER")
	}
	return host.CheckStart(o.runtimeEndpoint(c))
}

func closeRuntime(ctx context.Context, runtime *host.Runtime) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), CloseTimeout)
	defer done()
	if err := runtime.Close(ctx); err != nil {
		return fmt.Errorf("stop the container runtime: %w", err)
	}
	return nil
}

// restTime is for how long nothing has happened to any pod when memory that only
// beginnings and ends of pods need is given back.
const restTime = 5 * time.Second

// member is a node that runs.
type member struct {
	Options
	name    string
	config  *config.Config
	runtime *host.Runtime
	engine  *worker.Node
	metrics *metrics.Metrics
	rest    *footprint.Rest
	ready   func()

	node    *register.Node
	pods    *pods.Shell
	health  *health
	fail    context.CancelCauseFunc // ends the node with an error
	cluster *cluster                // nil without one
	network *podNetwork             // nil: the pods' network is the runtime's own affair
	file    *source.File
	beside  sync.WaitGroup
}
