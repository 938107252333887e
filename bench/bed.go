package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/agent"
	"github.com/lifepod/lifepod/agent/checkpoint"
	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/run"
)

// bed is what both sides measure on: one runtime, one node, one event stream each.
type bed struct {
	client *cri.Client
	node   *agent.Node
	events *agent.Events
	exits  chan string // ids of containers that have exited, for the floor

	stop    context.CancelFunc
	streams sync.WaitGroup
}

func newBed(ctx context.Context, client *cri.Client, runtime *bundle.Runtime, log *slog.Logger) (*bed, error) {
	node, err := run.NewNode(run.NodeConfig{Runtime: client, Root: runtime.Paths().Root,
		CgroupParent: strings.TrimPrefix(runtime.CgroupParent(), "/"), IPAMDir: runtime.Paths().IPAM(), Log: log})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &bed{client: client, node: node, events: node.Events(), exits: make(chan string, 100), stop: cancel}
	b.streams.Go(func() { b.events.Run(ctx) })
	stream := cri.Stream{Runtime: client.Runtime, Log: log, Event: b.noteExit, Proven: func() {}, Broken: func() {}}
	b.streams.Go(func() { stream.Run(ctx) })
	return b, nil
}

func (b *bed) close() {
	b.stop()
	b.streams.Wait()
}

func (b *bed) noteExit(e *runtimeapi.ContainerEventResponse) {
	if e.GetContainerEventType() != runtimeapi.ContainerEventType_CONTAINER_STOPPED_EVENT {
		return
	}
	select {
	case b.exits <- e.GetContainerId():
	default:
	}
}

// newWorker is a worker that saves its pod's state, as that of lifepod run does.
func (b *bed) newWorker(pod *v1.Pod, s agent.Sink) *agent.Worker {
	worker := b.node.NewWorker(pod, s)
	worker.Remember(checkpoint.New(filepath.Join(filepath.Dir(b.node.PodsDir), string(pod.UID)+".checkpoint")))
	return worker
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

// kill ends the container's process from outside, as a crash would.
func (b *bed) kill(ctx context.Context, containerID string) error {
	status, err := b.client.Runtime.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: containerID, Verbose: true})
	if err != nil {
		return err
	}
	var info struct {
		Pid int `json:"pid"`
	}
	if err := json.Unmarshal([]byte(status.GetInfo()["info"]), &info); err != nil || info.Pid <= 1 {
		return fmt.Errorf("no pid of container %s: %w", containerID, err)
	}
	return unix.Kill(info.Pid, unix.SIGKILL)
}
