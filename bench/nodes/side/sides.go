// Package side has the sides of the benchmark of simulated nodes: lifepod and KWOK, each with its process and its pods.
package side

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
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/bench/nodes/profiled"
	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/kwok"
	"github.com/lifepod/lifepod/e2e/machine"
)

// The sides, by their names in the table.
const (
	Lifepod = "lifepod"
	KWOK    = "KWOK"
	Life    = "life" // lifepod with pods that have more of a life
)

// The begins of the names of their Nodes.
const lifepodPrefix, kwokPrefix = "sim-", "kwok-"

// UsualParallelism is KWOK's own.
const UsualParallelism = kwok.UsualParallelism

// Side is whose nodes are measured.
type Side struct {
	prefix string        // of its Nodes
	adapt  func(*v1.Pod) // what its pods have beside one container

	Start func(context.Context, Config) (Nodes, error)
	Ready func(*v1.Pod) bool // what a pod is awaited to be
}

// Config is how nodes are started.
type Config struct {
	Program     string // lifepod
	Profiles    string // folder; if it is set lifepod's nodes are this program, which calls profiled.Run
	Count       int
	Creators    int // requests that create KWOK's Nodes at the same time
	Parallelism int // of KWOK

	Plane  *controlplane.ControlPlane
	Client kubernetes.Interface
	Dir    string // an empty folder for files
}

// Nodes are all nodes of a side, in one process.
type Nodes interface {
	Version() string // of KWOK; empty: lifepod's
	PID() int
	Ended() <-chan struct{}
	LastLines(count int) []byte
	Close() error
}

// All are the sides by their names.
var All = map[string]Side{
	Lifepod: {prefix: lifepodPrefix, Start: startLifepod, adapt: func(*v1.Pod) {}, Ready: testbed.IsReady},
	KWOK:    {prefix: kwokPrefix, Start: startKwok, adapt: func(*v1.Pod) {}, Ready: testbed.IsReady},
	Life:    {prefix: lifepodPrefix, Start: startLifepod, adapt: giveLife, Ready: hasLived},
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

func startLifepod(_ context.Context, c Config) (Nodes, error) {
	file := filepath.Join(c.Dir, "scenario.yaml")
	if err := os.WriteFile(file, []byte(scenario), 0o600); err != nil {
		return nil, err
	}
	args := []string{"--count", fmt.Sprint(c.Count), "--kubeconfig", c.Plane.Kubeconfig(), "--scenario", file}
	command := exec.Command(c.Program, append([]string{"sim", profiled.Command}, args...)...)
	if c.Profiles != "" {
		own, err := os.Executable()
		if err != nil {
			return nil, err
		}
		command = exec.Command(own, append([]string{profiled.Command}, args...)...)
		command.Env = append(os.Environ(), profiled.Variable+"="+c.Profiles)
	}
	p, err := machine.StartProcess(command, filepath.Join(c.Dir, "nodes.log"))
	if err != nil {
		return nil, err
	}
	return simulated{p}, nil
}

// simulated is the process of lifepod's nodes.
type simulated struct{ *machine.Process }

// Version is nothing that the table has.
func (simulated) Version() string { return "" }

// Close lets it end by itself: it may have a profile to write.
func (s simulated) Close() error {
	if err := s.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-s.Ended()
	return nil
}

// startKwok starts KWOK, and creates the Nodes for it as its benchmark does.
func startKwok(ctx context.Context, c Config) (Nodes, error) {
	controller, err := kwok.Start(ctx, kwok.Config{Plane: c.Plane, Dir: c.Dir, Parallelism: c.Parallelism})
	if err != nil {
		return nil, err
	}
	err = testbed.Together(c.Creators, c.Count, func(i int) error {
		_, err := c.Client.CoreV1().Nodes().Create(ctx, kwokNode(i), metav1.CreateOptions{})
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

// PodName is the name of the ith pod.
func PodName(i int) string { return fmt.Sprint("pod-", i) }

// Pod is the ith pod of a side with so many nodes.
func (s Side) Pod(i, nodes int) *v1.Pod {
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: PodName(i)}}
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
