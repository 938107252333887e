package worker

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/pods/counts"
)

// countedLife tells the counts of each status, as a node does.
type countedLife struct {
	*life
	pod    *v1.Pod
	counts *counts.Counts
	before v1.PodStatus
}

func (l *countedLife) Status(status v1.PodStatus, step bool) {
	l.counts.Status(l.pod, &l.before, &status)
	l.before = status
	l.life.Status(status, step)
}

// runCounted begins the life of a pod of which is counted what becomes of it.
func (s *story) runCounted(pod *v1.Pod, to *counts.Counts) *life {
	s.node.Watch, s.node.JournalWrote = to, to.Journal
	l := &countedLife{life: s.newLife(), pod: pod, counts: to}
	return l.begin(s.ctx, s.node.NewWorker(pod, l))
}

// figures are those of a metric that are not 0, by their labels' values: of a counter its value, of a histogram
// how often it was measured.
func figures(t *testing.T, of *counts.Counts, name string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(of.Collectors()...)
	families := assert.Get(registry.Gather()).Must(t)
	figures := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetValue())
			}
			if value := m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount()); value > 0 {
				figures[strings.Join(labels, " ")] = value
			}
		}
	}
	return figures
}

// What led to a restart is counted with it: what the core has decided, and not what the exit looks like.
func TestRestartsAreCounted(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"crash, first": "failed", "killed from outside": "failed", "out of memory": "oom_killed", "liveness probe": "liveness_probe", "liveness probe, deaf to the signal": "liveness_probe",
		"restart asked for": "requested", "all containers restart": "all_containers", "restarted when completed": "completed", "startup probe failed": "startup_probe", "postStart hook": "post_start_hook",
		"image changed": "changed", "readiness probe": "",
	}
	for _, c := range append(causes, more...) {
		cause, known := want[c.name]
		if !known {
			continue
		}
		delete(want, c.name)
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, to := newStory(t), counts.New()
				pod := podOf("web", v1.RestartPolicyAlways, "main")
				c.make(s, pod)
				life := s.runCounted(pod, to)
				c.until(life)
				synctest.Wait()
				expected := map[string]float64{}
				if cause != "" {
					expected[cause] = 1
				}
				assert.Deep(t, "restarts", expected, figures(t, to, "lifepod_container_restarts_total"))
			})
		})
	}
	assert.Empty(t, want, "not counted")
}

// more are causes that only the counts tell apart.
var more = []struct {
	name  string
	make  func(s *story, pod *v1.Pod)
	until func(l *life)
}{
	{"restarted when completed", func(s *story, _ *v1.Pod) { s.Program("main", "exit=0 after=1s", "run") }, func(l *life) { l.await("restarted", restarts(1)) }},
	{"startup probe failed", func(s *story, pod *v1.Pod) {
		s.Command("main", "exit=1", "exit=1", "exit=1", "out=fine")
		pod.Spec.Containers[0].StartupProbe = execProbe(10, "started")
	}, func(l *life) { l.await("restarted", restarts(1)) }},
	{"postStart hook", func(s *story, pod *v1.Pod) {
		s.Command("main", "exit=1", "out=fine")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"prepare"}}}}
	}, func(l *life) { l.await("restarted", restarts(1)) }},
	{"image changed", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		newer := l.worker.Pod().DeepCopy()
		newer.Spec.Containers[0].Image = otherImage
		l.worker.Post(lifecycle.PodUpdated{Pod: newer})
		l.await("restarted", restarts(1))
	}},
}

// The start of a pod is measured to each milestone, and step by step; so is its journal.
func TestStartsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, to := newStory(t), counts.New()
		s.withJournal()
		s.Fault("fail CreateContainer main message=no_such_device times=1")
		s.Program("setup", "exit=0 after=2s")
		pod := podOf("web", v1.RestartPolicyAlways, "main")
		setup := pod.Spec.Containers[0]
		setup.Name = "setup"
		pod.Spec.InitContainers = []v1.Container{setup}
		pod.Spec.Containers[0].ImagePullPolicy = v1.PullAlways
		web := s.runCounted(pod, to)
		web.await("ready", func(s v1.PodStatus) bool {
			return slices.ContainsFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
		})
		time.Sleep(time.Second)
		web.ends(30)
		for _, milestone := range []string{"sandbox", "initialized", "running", "ready"} {
			n := figures(t, to, "lifepod_pod_start_duration_seconds")[milestone]
			assert.True(t, n == 1, "the milestone %s was reached %v times", milestone, n)
		}
		steps := figures(t, to, "lifepod_pod_step_duration_seconds")
		want := map[string]float64{
			"ok create_cgroup": 1, "ok mount_volumes": 1, "ok create_sandbox": 1, "ok pull_image": 2, "failed create_container": 1, "ok create_container": 2,
			"ok start_container": 2, "ok stop_container": 1, "ok unmount_volumes": 1, "ok remove_cgroup": 1,
		}
		maps.DeleteFunc(steps, func(step string, _ float64) bool { return want[step] == 0 })
		assert.Deep(t, "steps", want, steps)
		entries, writes := figures(t, to, "lifepod_journal_entries_total")[""], figures(t, to, "lifepod_journal_write_duration_seconds")[""]
		assert.True(t, entries >= 20 && writes >= 10 && writes <= entries, "%v entries in %v writes", entries, writes)
	})
}
