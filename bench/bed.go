package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/lifepod/lifepod/bench/bare"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/worker"
)

// bed is what all sides measure on: one runtime and one node, an event stream each, and the stock
// runtime beside them.
type bed struct {
	client *cri.Client
	node   *worker.Engine
	events *worker.Events
	floor  *bare.Runtime
	stock  *bare.Runtime // the same calls on the runtime as upstream ships it; nil: nobody compares

	stop    context.CancelFunc
	streams sync.WaitGroup
}

// runtimes are those that are measured.
type runtimes struct {
	carried *bundle.Runtime
	client  *cri.Client // of the carried one
	stock   *cri.Client // of the one as upstream ships it; nil: nobody compares
}

func newBed(ctx context.Context, r runtimes, log *slog.Logger) (*bed, error) {
	node, err := host.NewNode(host.NodeConfig{Runtime: r.client, Root: r.carried.Paths().Root,
		CgroupParent: strings.TrimPrefix(r.carried.CgroupParent(), "/"), IPAMDir: r.carried.Paths().IPAM(), Log: log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &bed{client: r.client, node: node, events: node.Events(nil), stop: cancel}
	b.floor = &bare.Runtime{Client: r.client, Node: node.Config, CgroupOf: node.Cgroups.Path, Log: log}
	b.streams.Go(func() { b.events.Run(ctx) })
	b.streams.Go(func() { b.floor.Run(ctx) })
	if r.stock != nil {
		b.stock = &bare.Runtime{Client: r.stock, Node: node.Config, CgroupOf: node.Cgroups.Path, Log: log}
		b.streams.Go(func() { b.stock.Run(ctx) })
	}
	return b, nil
}

func (b *bed) close() {
	b.stop()
	b.streams.Wait()
}

// newWorker is a worker that saves its pod's state, as that of lifepod run does.
func (b *bed) newWorker(pod *v1.Pod, s worker.Sink) *worker.Worker {
	w := b.node.NewWorker(pod, s)
	w.Remember(worker.NewCheckpointFile(filepath.Join(filepath.Dir(b.node.Folders.Pods), string(pod.UID)+".checkpoint")))
	return w
}

// pod is what is measured: one container that ends at once on its stop signal.
func (b *bed) pod() *v1.Pod {
	return &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "bench", Namespace: "default", UID: uuid.NewUUID(), Generation: 1},
		Spec: v1.PodSpec{
			RestartPolicy:                 v1.RestartPolicyAlways,
			TerminationGracePeriodSeconds: new(int64(30)),
			DNSPolicy:                     v1.DNSDefault,
			EnableServiceLinks:            new(true),
			SecurityContext:               &v1.PodSecurityContext{},
			Containers: []v1.Container{{
				Name: "main", Image: "lifepod.dev/toolbox:1", Command: []string{"sleep", "infinity"},
				ImagePullPolicy: v1.PullIfNotPresent, TerminationMessagePath: "/dev/termination-log",
				TerminationMessagePolicy: v1.TerminationMessageReadFile,
			}},
		},
		Status: v1.PodStatus{QOSClass: v1.PodQOSBestEffort},
	}
}
