package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/garbage"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/node/config"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/stats"
	"github.com/lifepod/lifepod/telemetry"
	"github.com/lifepod/lifepod/unattended"
)

// CloseTimeout is how long the bundled runtime may take to stop.
const CloseTimeout = 30 * time.Second

// Run is a node until ctx ends. Its pods run on then: the next Run goes on with
// them. ready is called once, when the node has begun; an error before that has
// left everything as it was.
func Run(ctx context.Context, o Options, ready func()) (err error) {
	c, name, err := o.prepare()
	if err != nil {
		return err
	}
	if err := rootfolder.Make(o.rootDir()); err != nil {
		return err
	}
	release, err := o.memory().Lock()
	if err != nil {
		return err
	}
	defer release()
	runtime, err := host.OpenWith(ctx, o.runtimeEndpoint(c), bundle.Config{
		Root: o.Root, CNI: &o.CNI, CgroupDriver: cgroupDriver(c), OCIRuntime: o.OCIRuntime, Log: o.Log,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRuntime(ctx, runtime)) }()
	traces, err := openTraces(ctx, c.Kubelet.Tracing, name, o.Log)
	if err != nil {
		return err
	}
	defer traces.Close(ctx)
	s := &setup{
		options: o, name: name, config: c, runtime: runtime, log: o.Log,
		counts: stats.NewMetrics(stats.MetricsConfig{NodeName: name, Version: o.Version, Log: o.Log}), traces: traces,
	}
	endMetrics, err := telemetry.SendMetrics(ctx, s.counts.All(), tracedService, name) // as its spans are (A-TRC-1)
	if err != nil {
		return err
	}
	defer endMetrics()
	closeCalls, err := s.openCalls()
	if err != nil {
		return err
	}
	defer closeCalls()
	if s.features, err = s.calls.Features(ctx); err != nil {
		return err
	}
	at := place{
		Command: cmp.Or(o.Command, unattended.Agent), Memory: o.memory().Dir, LogRoot: s.logRoot(), Endpoint: runtime.Endpoint,
	}
	if err := at.save(runtime.Root); err != nil {
		return err
	}
	if !o.Embedded {
		garbage.Allow(garbage.Little)
	}
	return s.run(ctx, ready)
}

// cgroupDriver is the one that the configuration wants of the bundled runtime; another
// says itself which one it uses.
func cgroupDriver(c *config.Config) bundle.CgroupDriver {
	if !c.Set("cgroupDriver") {
		return ""
	}
	return bundle.CgroupDriver(c.Kubelet.CgroupDriver)
}

// prepare is what comes before anything is opened: the configuration is read and held
// against the machine. It returns the node's name, too.
func (o *Options) prepare() (*config.Config, string, error) {
	c, err := o.load()
	if err != nil {
		return nil, "", err
	}
	if o.Logs != nil && c.Set("logging") {
		o.Log = o.Logs(c.Kubelet.Logging.Format, uint32(c.Kubelet.Logging.Verbosity))
	}
	if !o.Embedded {
		QuietKlog(o.Log)
	}
	if text := c.Warning(); text != "" {
		o.Log.Warn(text)
	}
	name, err := register.Hostname(o.HostnameOverride)
	if err != nil {
		return nil, "", fmt.Errorf("name of the node: %w", err)
	}
	if err := o.check(c); err != nil {
		return nil, "", err
	}
	return c, name, settleProcess(c)
}

// check is an error if there can be no pods, or none could start.
func (o Options) check(c *config.Config) error {
	if !o.inCluster() && c.Kubelet.StaticPodPath == "" && c.Kubelet.StaticPodURL == "" {
		return errors.New("no pods to run: want --kubeconfig for those of a cluster, or --manifests FOLDER")
	}
	if err := o.checkLog(c); err != nil {
		return err
	}
	if err := o.checkCgroup(c); err != nil {
		return err
	}
	if err := checkKernel(c, host.ThisKernel()); err != nil {
		return err
	}
	return host.CheckStart(o.runtimeEndpoint(c))
}

// checkLog refuses a configuration of a log that isn't this node's to make.
func (o Options) checkLog(c *config.Config) error {
	if o.Logs != nil || c.LogsByDefault() {
		return nil
	}
	return c.Wrong(field.Forbidden(field.NewPath("logging"), "the node logs where lifepod up does, as its --log-level says: should be left out"))
}

// checkCgroup refuses a place for pods' cgroups that another one would be taken for.
func (o Options) checkCgroup(c *config.Config) error {
	root := c.Kubelet.CgroupRoot
	if strings.Trim(root, "/") == "" || o.runtimeEndpoint(c) != "" {
		return nil
	}
	return c.Wrong(field.Invalid(field.NewPath("cgroupRoot"), root,
		"with the containerd that lifepod carries pods are in a cgroup of its own: should be left out, or another runtime be named (containerRuntimeEndpoint)"))
}

func closeRuntime(ctx context.Context, runtime *host.Runtime) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), CloseTimeout)
	defer done()
	if err := runtime.Close(ctx); err != nil {
		return fmt.Errorf("stop the container runtime: %w", err)
	}
	return nil
}

// setup is what the parts of a node are made of.
type setup struct {
	options Options
	name    string
	config  *config.Config
	runtime *host.Runtime
	calls   *cri.Client // of the runtime, counted and traced
	// imagesElsewhere says that they are not the runtime's own (imageServiceEndpoint).
	imagesElsewhere bool
	features        cri.Features
	counts          *stats.Metrics
	traces          *traces // nil: nothing is traced
	log             *slog.Logger
}
