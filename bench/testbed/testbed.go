package testbed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/worker/podcgroup"
)

type Config struct {
	Lifepod string // the binary
	Keep    string // folder of the nodes' logs; empty: they are removed
	Audit   bool   // the API server logs what nodes write
	Gates   string // feature gates of the kubelet: NAME=true,NAME=false
	Log     *slog.Logger

	kubelet string // its title, once its node was added
}

// KubeletTitle says which kubelet it is: its version, and its gates.
func (s *Testbed) KubeletTitle() string { return s.config.kubelet }

// Testbed is a containerd, a control plane and watches that see what its users would
// see.
type Testbed struct {
	config Config
	// Floor makes pods by bare calls.
	Floor *bare.Runtime
	Plane *controlplane.ControlPlane
	API   kubernetes.Interface
	Pods  *Board[*v1.Pod]
	// Sides are the nodes, of which none runs between two measurements.
	Sides []*Side

	root    string
	runtime *bundle.Runtime
	client  *cri.Client
	cgroups podcgroup.Driver // of lifepod's pods
	closers Closers
}

// Open starts everything but the nodes. After an error nothing is left.
func Open(ctx context.Context, config Config) (*Testbed, error) {
	s := &Testbed{config: config}
	for _, step := range []func(context.Context) error{s.openRuntime, s.openFloor, s.openCgroup, s.openPlane} {
		if err := step(ctx); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	s.Pods = NewBoard[*v1.Pod]()
	s.Beside(func(ctx context.Context) { s.Pods.Run(ctx, s.API.CoreV1().Pods(Namespace).Watch) })
	return s, nil
}

func (s *Testbed) onClose(f func() error) { s.closers.Add(f) }

// Close ends everything and removes all files.
func (s *Testbed) Close() error {
	Progress("cleaning up")
	return s.closers.Close()
}

func (s *Testbed) openRuntime(ctx context.Context) (err error) {
	if s.root, err = os.MkdirTemp("", "lifepod-bench-"); err != nil {
		return err
	}
	s.onClose(func() error { return os.RemoveAll(s.root) })
	if s.runtime, err = bundle.Open(ctx, bundle.Config{Root: s.root, Log: s.config.Log}); err != nil {
		return err
	}
	s.onClose(func() error { return within(time.Minute, s.runtime.Close) })
	if _, err := s.runtime.ImportImages(ctx); err != nil {
		return err
	}
	if s.client, err = cri.Dial(s.runtime.Endpoint()); err != nil {
		return err
	}
	s.onClose(s.client.Close)
	s.onClose(func() error { return within(Patience, s.sweepRuntime) })
	return nil
}

// within calls something that has to be done even if the user wants an end.
func within(timeout time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return do(ctx)
}

func (s *Testbed) openFloor(context.Context) error {
	node, err := host.NewNode(host.NodeConfig{Runtime: s.client, Root: s.root,
		CgroupParent: strings.TrimPrefix(s.runtime.CgroupParent(), "/"), IPAMDir: s.runtime.Paths().IPAM(), Log: s.config.Log})
	if err != nil {
		return err
	}
	s.Floor = &bare.Runtime{Client: s.client, Node: node.Config, CgroupOf: node.Cgroups.Path, Log: s.config.Log}
	s.Beside(s.Floor.Run)
	return nil
}

// openCgroup names a cgroup for lifepod's pods, as member does for a kubelet's: in
// the machine's may be the pods of a real node, whose kubelet kills what it doesn't
// know.
func (s *Testbed) openCgroup(context.Context) error {
	own := podcgroup.Driver{Parent: filepath.Base(s.root)}
	s.cgroups = podcgroup.Driver{Parent: own.Parent + "/kubepods"}
	s.onClose(own.RemoveParents)
	return nil
}

// Beside runs something until Close.
func (s *Testbed) Beside(run func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { run(ctx) })
	s.onClose(func() error { cancel(); running.Wait(); return nil })
}

func (s *Testbed) openPlane(ctx context.Context) (err error) {
	if s.Plane, err = controlplane.StartParts(ctx, controlplane.Parts{Audit: s.config.Audit}); err != nil {
		return err
	}
	s.onClose(s.Plane.Close)
	kubelet := s.Plane.Binary(Kubelet)
	if _, err := os.Stat(kubelet); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is missing: run `make kubelet` first", kubelet)
	}
	s.API, err = kubernetes.NewForConfig(s.Plane.RESTConfig())
	return err
}

// Progress tells whoever waits for the measurements how far they are.
func Progress(format string, values ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format(time.TimeOnly)+" "+format+"\n", values...)
}
