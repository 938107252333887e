package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/why"
)

// causes are pods that aren't as they should be, or were not, and when they are asked why.
var causes = []struct {
	name  string
	make  func(s *story, pod *v1.Pod)
	until func(l *life) // and then it is asked
}{
	{"crash, first", func(s *story, _ *v1.Pod) { s.Program("main", "exit=1 after=1s", "run") }, func(l *life) { l.await("restarted", restarts(1)) }},
	{"crash loop", func(s *story, _ *v1.Pod) {
		s.Program("main", "exit=1 after=1s", "exit=2 after=1s", "exit=2 after=1s", "run")
	}, func(l *life) {
		l.await("restarted twice", restarts(2))
		time.Sleep(5 * time.Second)
	}},
	{"out of memory", func(s *story, pod *v1.Pod) {
		pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{v1.ResourceMemory: resource.MustParse("64Mi")}
		s.Program("main", "exit=137 oom after=1s", "exit=137 oom after=1s", "run")
	}, func(l *life) { l.await("in back-off", waitingFor("CrashLoopBackOff")) }},
	{"killed from outside", func(s *story, _ *v1.Pod) { s.Program("main", "exit=137 after=1s", "run") }, func(l *life) { l.await("restarted", restarts(1)) }},
	{"liveness probe", func(s *story, pod *v1.Pod) {
		s.Command("main", "exit=1 out=sick", "exit=1 out=sick", "exit=1 out=sick", "out=fine")
		pod.Spec.Containers[0].LivenessProbe = execProbe(10, "alive")
	}, func(l *life) { l.await("restarted", restarts(1)) }},
	{"liveness probe, deaf to the signal", func(s *story, pod *v1.Pod) {
		s.Program("main", "run term=ignore", "run")
		s.Command("main", "exit=1 out=sick", "exit=1 out=sick", "exit=1 out=sick", "out=fine")
		pod.Spec.Containers[0].LivenessProbe = execProbe(10, "alive")
	}, func(l *life) { l.await("restarted", restarts(1)) }},
	{"startup probe", func(s *story, pod *v1.Pod) {
		s.Command("main", "exit=1 out=warming_up", "exit=1 out=warming_up")
		pod.Spec.Containers[0].StartupProbe = execProbe(10, "started")
	}, func(l *life) { time.Sleep(12 * time.Second) }},
	{"readiness probe", func(s *story, pod *v1.Pod) {
		s.Command("main", "exit=1 out=no_database", "exit=1 out=no_database", "exit=1 out=no_database")
		pod.Spec.Containers[0].ReadinessProbe = execProbe(10, "ready")
	}, func(l *life) { time.Sleep(12 * time.Second) }},
	{"readiness gate", func(_ *story, pod *v1.Pod) {
		pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/load-balancer"}}
	}, func(l *life) { l.await("running", running) }},
	{"image that is not there", func(s *story, pod *v1.Pod) {
		s.Fault("fail PullImage code=NotFound message=not_found times=9")
		pod.Spec.Containers[0].Image = "example.org/absent:1"
		other := pod.Spec.Containers[0]
		other.Name = "other"
		pod.Spec.Containers = append(pod.Spec.Containers, other)
	}, func(l *life) { time.Sleep(3 * time.Second) }},
	{"pull under way", func(s *story, pod *v1.Pod) {
		s.Fault("slow PullImage by=1m")
		pod.Spec.Containers[0].Image, pod.Spec.Containers[0].ImagePullPolicy = otherImage, v1.PullAlways
	}, func(l *life) { time.Sleep(5 * time.Second) }},
	{"init container runs", func(s *story, pod *v1.Pod) {
		s.Program("setup", "run")
		setup := pod.Spec.Containers[0]
		setup.Name = "setup"
		pod.Spec.InitContainers = []v1.Container{setup}
	}, func(l *life) { time.Sleep(30 * time.Second) }},
	{"init container fails", func(s *story, pod *v1.Pod) {
		s.Program("setup", "exit=4 after=1s", "exit=4 after=1s", "run")
		setup := pod.Spec.Containers[0]
		setup.Name = "setup"
		pod.Spec.InitContainers = []v1.Container{setup}
	}, func(l *life) { time.Sleep(4 * time.Second) }},
	{"no network", func(s *story, _ *v1.Pod) { s.Fault("fail RunPodSandbox message=no_route times=5") }, func(l *life) { time.Sleep(2 * time.Second) }},
	{"sandbox takes long", func(s *story, _ *v1.Pod) { s.Fault("slow RunPodSandbox by=1m") }, func(l *life) { time.Sleep(20 * time.Second) }},
	{"create refused", func(s *story, _ *v1.Pod) { s.Fault("fail CreateContainer main message=no_such_device times=5") }, func(l *life) { time.Sleep(2 * time.Second) }},
	{"start refused", func(s *story, _ *v1.Pod) { s.Fault("fail StartContainer main message=exec_not_found times=5") }, func(l *life) { time.Sleep(2 * time.Second) }},
	{"restart asked for", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		l.worker.Post(lifecycle.RestartRequested{Container: "main", Because: "lifepod restart"})
		l.await("restarted", restarts(1))
	}},
	{"all containers restart", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		l.worker.Post(lifecycle.RestartRequested{Because: "lifepod restart"})
		l.await("restarted", restarts(1))
	}},
	{"stop, deaf to the signal", func(s *story, _ *v1.Pod) { s.Program("main", "run term=ignore") }, func(l *life) {
		l.await("running", running)
		l.stop(30)
		time.Sleep(10 * time.Second)
	}},
	{"preStop hook runs", func(s *story, pod *v1.Pod) {
		s.Command("main", "hang")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}}
	}, func(l *life) {
		l.await("running", running)
		l.stop(30)
		time.Sleep(10 * time.Second)
	}},
	{"runtime does not stop it", func(s *story, _ *v1.Pod) { s.Fault("fail StopContainer main message=shim_is_gone times=5") }, func(l *life) {
		l.await("running", running)
		l.stop(30)
		time.Sleep(5 * time.Second)
	}},
	{"evicted", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		l.worker.Post(lifecycle.EvictionRequested{Reason: "Evicted", Message: "The node was low on resource: memory. Container main was using 900Mi, request is 0, has larger consumption of memory."})
		l.gone()
	}},
	{"deadline", func(_ *story, pod *v1.Pod) { pod.Spec.ActiveDeadlineSeconds = new(int64(20)) }, func(l *life) { l.gone() }},
	{"failed for good", func(s *story, pod *v1.Pod) {
		pod.Spec.RestartPolicy = v1.RestartPolicyNever
		s.Program("main", "exit=3 after=2s")
	}, func(l *life) { l.gone() }},
	{"completed", func(s *story, pod *v1.Pod) {
		pod.Spec.RestartPolicy = v1.RestartPolicyNever
		s.Program("main", "exit=0 after=2s")
	}, func(l *life) { l.gone() }},
	{"all well", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		time.Sleep(time.Minute)
	}},
}

// TestWhy asks of each pod why it is as it is, through the journal that its worker has written.
func TestWhy(t *testing.T) {
	for _, cause := range causes {
		t.Run(cause.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStory(t)
				in := s.withJournal()
				pod := podOf("web", v1.RestartPolicyAlways, "main")
				cause.make(s, pod)
				cause.until(s.run(pod))
				synctest.Wait()
				record, err := in.Read(string(pod.UID))
				if err != nil {
					t.Fatal(err)
				}
				compareWhy(t, cause.name, record)
			})
		})
	}
}

func compareWhy(t *testing.T, name string, record *journal.Record) {
	t.Helper()
	e := why.Explain(record, time.Now().UTC())
	text := e.Standing + "\n"
	for _, sentence := range e.Sentences {
		text += "- " + sentence.Text
		if len(sentence.Rules) > 0 {
			text += " (rules)"
		}
		text += "\n"
	}
	path := filepath.Join("testdata", "why", strings.NewReplacer(" ", "_", ",", "").Replace(name)+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), text); diff != "" {
		t.Errorf("why (-want +got):\n%s", diff)
	}
}
