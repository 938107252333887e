package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/kwok"
	"github.com/lifepod/lifepod/e2e/machine"
)

// The sides, by their names in the table.
const (
	lifepodSide = "lifepod"
	kwokSide    = "KWOK"
	lifeSide    = "life" // lifepod with pods that have more of a life
)

// The begins of the names of their Nodes.
const lifepodPrefix, kwokPrefix = "sim-", "kwok-"

// side is whose nodes are measured.
type side struct {
	prefix string // of its Nodes
	start  func(ctx context.Context, b *bench, dir string) (nodes, error)
	adapt  func(*v1.Pod)      // what its pods have beside one container
	ready  func(*v1.Pod) bool // what a pod is awaited to be
}

// nodes are all nodes of a side, in one process.
type nodes interface {
	PID() int
	Ended() <-chan struct{}
	LastLines(count int) []byte
	Close() error
}

var sides = map[string]side{
	lifepodSide: {prefix: lifepodPrefix, start: startLifepod, adapt: func(*v1.Pod) {}, ready: testbed.IsReady},
	kwokSide:    {prefix: kwokPrefix, start: startKwok, adapt: func(*v1.Pod) {}, ready: testbed.IsReady},
	lifeSide:    {prefix: lifepodPrefix, start: startLifepod, adapt: giveLife, ready: hasLived},
}

// scenario has the pretended runtime answer at once. The main container of a pod with a life crashes once.
const scenario = `apiVersion: lifepod.dev/v1alpha1
kind: Scenario
calls:
- {call: EnsureCgroup, takes: 0s}
- {call: MountVolumes, takes: 0s}
- {call: CreateSandbox, takes: 0s}
- {call: InspectImage, takes: 0s}
- {call: CreateContainer, takes: 0s}
- {call: StartContainer, takes: 0s}
- {call: Observe, takes: 0s}
- {call: StopContainer, takes: 0s}
- {call: RemoveContainer, takes: 0s}
- {call: StopSandbox, takes: 0s}
- {call: RemoveSandbox, takes: 0s}
- {call: UnmountVolumes, takes: 0s}
- {call: RemoveCgroup, takes: 0s}
containers:
  once:
    runs: [{run: 1s, exit: 1}, {run: forever}]
`

func startLifepod(_ context.Context, b *bench, dir string) (nodes, error) {
	file := filepath.Join(dir, "scenario.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		return nil, err
	}
	args := []string{"--count", fmt.Sprint(b.plan.nodes), "--kubeconfig", b.plane.Kubeconfig(), "--scenario", file}
	command := exec.Command(b.plan.lifepod, append([]string{"sim", nodesCommand}, args...)...)
	if b.plan.profiles != "" {
		own, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = exec.Command(own, append([]string{nodesCommand}, args...)...)
		command.Env = append(os.Environ(), profilesVariable+"="+b.plan.profiles)
	}
	p, err := machine.StartProcess(command, filepath.Join(dir, "nodes.log"))
	if err != nil {
		return nil, err
	}
	return simulated{p}, nil
}

// simulated is the process of lifepod's nodes.
type simulated struct{ *machine.Process }

// Close lets it end by itself: it may have a profile to write.
func (s simulated) Close() error {
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.Ended()
	return nil
}

// startKwok starts KWOK, and creates the Nodes for it as its benchmark does.
func startKwok(ctx context.Context, b *bench, dir string) (nodes, error) {
	controller, err := kwok.Start(ctx, kwok.Config{Plane: b.plane, Dir: dir, Parallelism: b.plan.parallelism})
	if err != nil {
		return nil, err
	}
	b.version = controller.Version()
	err = together(b.plan.creators, b.plan.nodes, func(i int) error {
		_, err := b.client.CoreV1().Nodes().Create(ctx, kwokNode(i), metav1.CreateOptions{})
		return err
	})
	if err != nil {
		return nil, errors.Join(err, controller.Close())
	}
	return controller, nil
}

// kwokNode is a Node as KWOK's benchmark has it.
func kwokNode(i int) *v1.Node {
	has := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("32"), v1.ResourceMemory: resource.MustParse("256Gi"), v1.ResourcePods: resource.MustParse("110"),
	}
	return &v1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprint(kwokPrefix, i),
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake", "node.alpha.kubernetes.io/ttl": "0"},
			Labels: map[string]string{
				v1.LabelArchStable: "amd64", v1.LabelOSStable: "linux", "kubernetes.io/role": "agent", "node-role.kubernetes.io/agent": "", "type": "kwok",
			},
		},
		Status: v1.NodeStatus{Allocatable: has, Capacity: has},
	}
}

func podName(i int) string { return fmt.Sprint("pod-", i) }

// podOf is the ith pod of a side.
func (s side) podOf(i, nodes int) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: podName(i)}}
	pod.Spec.NodeName, pod.Spec.AutomountServiceAccountToken = fmt.Sprint(s.prefix, i%nodes), new(false)
	pod.Spec.Containers = []v1.Container{{Name: "main", Image: testbed.Image}}
	s.adapt(pod)
	return pod
}

// giveLife gives a pod an init container, a readiness probe, and a container that crashes once.
func giveLife(pod *v1.Pod) {
	pod.Spec.InitContainers = []v1.Container{{Name: "setup", Image: testbed.Image}}
	c := &pod.Spec.Containers[0]
	c.Name = "once"
	c.ReadinessProbe = &v1.Probe{ProbeHandler: v1.ProbeHandler{HTTPGet: &v1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(8080)}}}
}

// hasLived says whether a pod with a life is Ready after its restart.
func hasLived(pod *v1.Pod) bool {
	return testbed.IsReady(pod) && len(pod.Status.ContainerStatuses) == 1 && pod.Status.ContainerStatuses[0].RestartCount == 1
}
