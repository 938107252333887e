package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// load is what a node is busy with while something is done to it: pods that stay,
// pods that come and go, and a Job.
type load struct {
	n     *node
	stay  []*v1.Pod
	job   *batchv1.Job
	stop  chan struct{}
	going sync.WaitGroup
	mu    sync.Mutex
	brief []*v1.Pod
}

// jobPods is how many pods have to succeed.
const jobPods = 6

// startLoad returns when the pods that stay are ready.
func (n *node) startLoad(t *testing.T, lots *rand.Rand) *load {
	t.Helper()
	l := &load{n: n, stop: make(chan struct{})}
	for _, pod := range []*v1.Pod{
		n.steady(t, "steady-1"), n.steady(t, "steady-2"), n.restarting(t, "restarting-1"), n.restarting(t, "restarting-2"),
		n.restartingAll(t, "all-1"), n.restartingAll(t, "all-2"),
	} {
		l.stay = append(l.stay, n.create(t, pod))
	}
	l.createJob(t)
	n.awaitReadyPods(t, l.stay[:2]...)
	for i := range 2 {
		own := rand.New(rand.NewPCG(lots.Uint64(), 0))
		l.going.Go(func() { l.comeAndGo(t, i, own) })
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) createJob(t *testing.T) {
	t.Helper()
	pod := l.n.pod(t, "job", map[string]any{
		"restartPolicy": "Never", "containers": []any{container("main", "w start; sleep 0.5; w exit-0", nil)},
	})
	job := &batchv1.Job{ObjectMeta: pod.ObjectMeta, Spec: batchv1.JobSpec{
		Completions: new(int32(jobPods)), Parallelism: new(int32(2)), BackoffLimit: new(int32(100)),
		Template: v1.PodTemplateSpec{Spec: pod.Spec},
	}}
	l.job = assert.Get(admin.BatchV1().Jobs("default").Create(t.Context(), job, metav1.CreateOptions{})).Must(t)
}

// comeAndGo creates pods and deletes each after a while.
func (l *load) comeAndGo(t *testing.T, line int, lots *rand.Rand) {
	for i := 0; ; i++ {
		select {
		case <-l.stop:
			return
		default:
		}
		pod, err := admin.CoreV1().Pods("default").Create(t.Context(), l.n.shortLived(t, fmt.Sprintf("brief-%d-%d", line, i)), metav1.CreateOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		l.mu.Lock()
		l.brief = append(l.brief, pod)
		l.mu.Unlock()
		x := lots.Float64()
		select { // any moment is as good
		case <-l.stop:
		case <-time.After(time.Duration(x * x * float64(4*time.Second))):
		}
		if err := admin.CoreV1().Pods("default").Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
			return
		}
		select {
		case <-l.stop:
			return
		case <-time.After(time.Duration(lots.Int64N(int64(time.Second)))):
		}
	}
}

func (l *load) end() {
	select {
	case <-l.stop:
	default:
		close(l.stop)
	}
	l.going.Wait()
}

// settle waits until everything has come to rest, and judges it: what was counted
// is what ran, all that was begun was finished, and nothing is left (B-RST-1,
// B-RST-4, B-FIN-6).
func (l *load) settle(t *testing.T) {
	t.Helper()
	l.end()
	n := l.n
	assert.Must(t, os.WriteFile(filepath.Join(n.dir, "stop"), nil, 0o600))
	n.awaitGone(t, l.brief...)
	for _, pod := range l.stay {
		eventually(t, "for "+pod.Name+" to be right", func() string { return l.rests(pod) })
	}
	eventually(t, "for the Job to end", func() string {
		job, err := admin.BatchV1().Jobs("default").Get(t.Context(), l.job.Name, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		// A code may get lost when containerd is killed, and its agent with it.
		if job.Status.Succeeded != jobPods || job.Status.Failed != 0 && n.runtimeKills == 0 {
			return fmt.Sprintf("%d succeeded, %d failed, %d active", job.Status.Succeeded, job.Status.Failed, job.Status.Active)
		}
		return ""
	})
	l.remove(t)
}

// rests says why a pod is not yet as it is to be when its containers don't end
// any more.
func (l *load) rests(pod *v1.Pod) string {
	h := l.n.history
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.pods[pod.UID]
	if !isReady(&c.pod.Status) || condition(&c.pod.Status, v1.AllContainersRestarting) == v1.ConditionTrue {
		return "it is " + c.lines[len(c.lines)-1]
	}
	said, cutOff := l.n.testimonyOf(pod.UID), h.cutOff(pod.UID)
	if len(said.pending) > 0 {
		return fmt.Sprintf("%v have not restarted with all", said.pending)
	}
	for name, s := range statuses(&c.pod.Status) {
		// containerd hides an end for half a minute while an exec starts whose
		// caller was killed (its shim waits for the exec's output to be read).
		if end := said.ended[name]; end != "" && name != "init" {
			return fmt.Sprintf("%s has ended with %s and has not restarted", name, end)
		}
		// An instance whose start was cut off may not have come so far as to write.
		if ran, counted := said.starts[name], int(s.RestartCount)+1; ran > counted+l.n.runtimeKills || counted > ran+cutOff[name] {
			return fmt.Sprintf("%s has started %d times, and has %d restarts", name, said.starts[name], s.RestartCount)
		}
	}
	return ""
}

// remove deletes everything and waits until nothing is left.
func (l *load) remove(t *testing.T) {
	t.Helper()
	background := metav1.DeletePropagationBackground
	assert.Must(t, admin.BatchV1().Jobs("default").Delete(t.Context(), l.job.Name, metav1.DeleteOptions{PropagationPolicy: &background}))
	for _, pod := range l.stay {
		l.n.remove(t, pod)
	}
	l.n.awaitNoPods(t)
	l.n.awaitNothingLeft(t)
	l.n.history.mu.Lock()
	defer l.n.history.mu.Unlock()
	for _, pod := range l.stay {
		said := l.n.testimonyOf(pod.UID)
		for container, id := range said.instance {
			assert.True(t, container == "init" || said.said[id+"term"] == 1, "%s: %s was not told to end", pod.Name, container)
		}
	}
}

func (l *load) figures() string {
	starts, cutOff, versions := 0, 0, 0
	h := l.n.history
	h.mu.Lock()
	defer h.mu.Unlock()
	for uid, c := range h.pods {
		for _, count := range l.n.testimonyOf(uid).starts {
			starts += count
		}
		versions += len(c.lines)
		cutOff += len(c.cutOff)
	}
	log, _ := os.ReadFile(l.n.LogFile()) // without it the figure is 0
	shims := strings.Count(string(log), "a shim that containerd has lost is ended")
	namespaces := strings.Count(string(log), "a network namespace that containerd has lost is removed")
	tasks := strings.Count(string(log), "a task that containerd has lost is ended")
	return fmt.Sprintf("%d pods, %d container starts, %d others cut off or missed, %d versions of pods, %d lost shims, %d lost tasks and %d lost network namespaces removed",
		len(h.pods), starts, cutOff, versions, shims, tasks, namespaces)
}
