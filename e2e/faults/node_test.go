package faults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// node is a member of the cluster that something is done to, with all that is
// seen of its pods.
type node struct {
	*member.Member
	t       *testing.T
	history *history
	dir     string // where containers write
	// runtimeKills is how often containerd was killed. The next one ends what was
	// just starting, and knows the container as one that was not started: it is
	// started again without being counted.
	runtimeKills int
	extra        func() []string // what is left of pods elsewhere than in the root; may be nil
	runtimeDir   string          // the root of the containerd
}

// startNode starts a node that is ready. At the end of the test all laws are
// judged, and nothing of it may be left (B-GC-5, B-FIN-6).
func startNode(t *testing.T, config member.Config) *node {
	t.Helper()
	n := newNode(t, config)
	assert.Must(t, n.AwaitReady(t.Context()))
	return n
}

// newNode is startNode for one that cannot be ready yet.
func newNode(t *testing.T, config member.Config) *node {
	t.Helper()
	config.Plane, config.Program = plane, program
	m := assert.Get(member.Start(t.Context(), config)).Must(t)
	n := &node{Member: m, t: t, dir: t.TempDir(), runtimeDir: m.Root.Dir}
	ctx, cancel := context.WithCancel(context.Background())
	n.history = watch(ctx, m.Name)
	t.Cleanup(func() {
		n.judge()
		if t.Failed() {
			n.show()
		}
		cancel()
		assert.NoError(t, m.Close())
	})
	return n
}

// judge holds what was seen against the laws.
func (n *node) judge() {
	n.history.mu.Lock()
	defer n.history.mu.Unlock()
	for uid, c := range n.history.pods {
		for _, wrong := range c.wrongs {
			n.t.Errorf("%s, by its status: %s", c.pod.Name, wrong)
		}
		for _, wrong := range n.testimonyOf(uid).wrongs {
			n.t.Errorf("%s, by its containers: %s", c.pod.Name, wrong)
		}
	}
}

// show keeps what a failure is understood by, and prints the most of it.
func (n *node) show() {
	dir := assert.Get(os.MkdirTemp("", "lp-faults-failed-")).Must(n.t)
	n.history.mu.Lock()
	defer n.history.mu.Unlock()
	for uid, c := range n.history.pods {
		wrongs := len(c.wrongs) + len(n.testimonyOf(uid).wrongs)
		text := strings.Join(c.lines, "\n")
		if wrongs > 0 || !c.gone {
			n.t.Logf("history of %s (%s):\n%s", c.pod.Name, uid, strings.Join(c.lines[max(0, len(c.lines)-12):], "\n"))
		}
		if wrongs == 0 && c.gone {
			continue
		}
		written, _ := os.ReadFile(filepath.Join(n.dir, string(uid))) // it may never have run
		n.keep(filepath.Join(dir, c.pod.Name+".history"), []byte(text))
		n.keep(filepath.Join(dir, c.pod.Name+".witness"), written)
	}
	log, _ := os.ReadFile(n.LogFile())
	n.keep(filepath.Join(dir, "agent.log"), log)
	runtime, _ := os.ReadFile(filepath.Join(n.runtimeDir, "containerd.log"))
	n.keep(filepath.Join(dir, "containerd.log"), runtime)
	n.t.Logf("all of it is in %s; the end of the agent's log:\n%s", dir, n.Process().LastLines(40))
}

func (n *node) keep(path string, text []byte) {
	assert.NoError(n.t, os.WriteFile(path, text, 0o600))
}

func (n *node) create(t *testing.T, pod *v1.Pod) *v1.Pod {
	t.Helper()
	created := assert.Get(admin.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{})).Must(t)
	return created
}

func (n *node) kill(t *testing.T) {
	t.Helper()
	assert.Require(t, !n.Process().HasEnded(), "the agent has ended by itself")
	assert.Must(t, n.Kill())
}

// run starts the agent again.
func (n *node) run(t *testing.T) {
	t.Helper()
	assert.Must(t, n.Run())
}

// remove deletes a pod with its own grace.
func (n *node) remove(t *testing.T, pod *v1.Pod) {
	t.Helper()
	assert.Must(t, admin.CoreV1().Pods(pod.Namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}))
}

// await waits until all of some pods are as wanted.
func (n *node) await(t *testing.T, what string, pods []*v1.Pod, wanted func(c *podHistory) bool) {
	t.Helper()
	err := n.history.await(t.Context(), func(all map[types.UID]*podHistory) string {
		for _, pod := range pods {
			if c := all[pod.UID]; c == nil {
				return pod.Name + " was never seen"
			} else if !wanted(c) {
				return fmt.Sprintf("%s: %s", pod.Name, c.lines[len(c.lines)-1])
			}
		}
		return ""
	})
	assert.Require(t, err == nil, "wait until pods are %s: %v", what, err)
}

func (n *node) awaitReadyPods(t *testing.T, pods ...*v1.Pod) {
	t.Helper()
	n.await(t, "ready", pods, func(c *podHistory) bool { return isReady(&c.pod.Status) })
}

func (n *node) awaitGone(t *testing.T, pods ...*v1.Pod) {
	t.Helper()
	n.await(t, "gone", pods, func(c *podHistory) bool { return c.gone })
}

// eventually asks again and again what nothing tells of.
func eventually(t *testing.T, what string, ask func() (why string)) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		why := ask()
		if why == "" {
			return
		}
		assert.Require(t, !time.Now().After(end), "wait %v %s: %s", patience, what, why)
		time.Sleep(20 * time.Millisecond)
	}
}

// awaitNothingLeft waits until the machine has nothing of the node's pods.
func (n *node) awaitNothingLeft(t *testing.T) {
	t.Helper()
	eventually(t, "for nothing to be left of pods", func() string {
		left := append(n.Root.LeftOfPods(), leftInRuntime(n.Root)...)
		if n.extra != nil {
			left = append(left, n.extra()...)
		}
		return strings.Join(left, "\n  ")
	})
}

// awaitNoPods waits until the API has no pod of the node.
func (n *node) awaitNoPods(t *testing.T) {
	t.Helper()
	err := n.history.await(t.Context(), func(all map[types.UID]*podHistory) string {
		for _, c := range all {
			if !c.gone {
				return fmt.Sprintf("%s: %s", c.pod.Name, c.lines[len(c.lines)-1])
			}
		}
		return ""
	})
	assert.Require(t, err == nil, "wait until the API has no pods: %v", err)
}

// TestKillAgent kills the agent at moments that nothing marks, while pods restart,
// come and go: nobody notices (B-RST-1, B-RST-4, B-RST-6).
func TestKillAgent(t *testing.T) {
	t.Parallel()
	lots := rand.New(rand.NewPCG(*seed, 1))
	n := startNode(t, member.Config{})
	l := n.startLoad(t, lots)
	for range *kills {
		live(lots)
		n.kill(t)
		pass(lots, 500*time.Millisecond)
		n.run(t)
	}
	l.settle(t)
	t.Logf("%d kills of the agent: %s", *kills, l.figures())
}

// live lets time pass, mostly little: the younger an agent, the more there is to
// interrupt.
func live(lots *rand.Rand) {
	x := lots.Float64()
	time.Sleep(time.Duration(x * x * float64(3*time.Second))) // any moment is as good
}

// pass lets up to a time pass; it waits for nothing.
func pass(lots *rand.Rand, most time.Duration) { time.Sleep(time.Duration(lots.Int64N(int64(most)))) }

// watchReady follows the node's Ready condition; the result tells all that it was.
func (n *node) watchReady(t *testing.T) (was func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	check := func(o any) {
		mu.Lock()
		defer mu.Unlock()
		for _, c := range o.(*v1.Node).Status.Conditions {
			if c.Type != v1.NodeReady {
				continue
			}
			if is := string(c.Status) + " " + c.Reason; len(all) == 0 || all[len(all)-1] != is {
				all = append(all, is)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	_, informer := cache.NewInformerWithOptions(cache.InformerOptions{
		ListerWatcher: cache.NewListWatchFromClient(admin.CoreV1().RESTClient(), "nodes", "", fields.OneTermEqualSelector("metadata.name", n.Name)),
		ObjectType:    &v1.Node{},
		Handler:       cache.ResourceEventHandlerFuncs{AddFunc: check, UpdateFunc: func(_, o any) { check(o) }},
	})
	go informer.Run(ctx.Done())
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}
