package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/sentence"
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
	{"crash loop of an hour", func(s *story, _ *v1.Pod) { s.Program("main", "exit=1 after=1s message=no_database") }, func(*life) { time.Sleep(time.Hour) }},
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
		l.worker.Post(lifecycle.RestartRequested{Container: "main", Because: lifecycle.Because{Text: "lifepod restart"}})
		l.await("restarted", restarts(1))
	}},
	{"all containers restart", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		l.worker.Post(lifecycle.RestartRequested{Because: lifecycle.Because{Text: "lifepod restart"}})
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
	{"volume that is not there", func(_ *story, pod *v1.Pod) {
		directory := v1.HostPathDirectory
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{HostPath: &v1.HostPathVolumeSource{Path: "/no/such/folder", Type: &directory}}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}, func(l *life) { time.Sleep(2 * time.Second) }},
	{"secret that is not there", func(_ *story, pod *v1.Pod) {
		pod.Spec.Containers[0].EnvFrom = []v1.EnvFromSource{{SecretRef: &v1.SecretEnvSource{LocalObjectReference: v1.LocalObjectReference{Name: "password"}}}}
	}, func(l *life) { time.Sleep(2 * time.Second) }},
	{"image that may not be pulled", func(_ *story, pod *v1.Pod) {
		pod.Spec.Containers[0].Image, pod.Spec.Containers[0].ImagePullPolicy = "example.org/absent:1", v1.PullNever
	}, func(l *life) { time.Sleep(2 * time.Second) }},
	{"image name that is none", func(_ *story, pod *v1.Pod) { pod.Spec.Containers[0].Image = "Example.org/UPPER" }, func(l *life) { time.Sleep(2 * time.Second) }},
	{"postStart hook runs", func(s *story, pod *v1.Pod) {
		s.Command("main", "hang")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"warm"}}}}
	}, func(l *life) { time.Sleep(10 * time.Second) }},
	{"postStart hook fails", func(s *story, pod *v1.Pod) {
		s.Command("main", "exit=7 out=cold")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PostStart: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"warm"}}}}
	}, func(l *life) { l.await("in back-off", waitingFor("PostStartHookError")) }},
	{"preStop hook out of time", func(s *story, pod *v1.Pod) {
		s.Command("main", "hang")
		pod.Spec.Containers[0].Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"drain"}}}}
	}, func(l *life) {
		l.await("running", running)
		l.ends(5)
	}},
	{"rule for the exit code", func(s *story, pod *v1.Pod) {
		s.Program("main", "exit=42 after=1s", "run")
		never := v1.ContainerRestartPolicyNever
		pod.Spec.Containers[0].RestartPolicy = &never
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action: v1.ContainerRestartRuleActionRestart, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{42}},
		}}
	}, func(l *life) { l.await("restarted", restarts(1)) }},
	{"exit code that restarts all", func(s *story, pod *v1.Pod) {
		s.Program("main", "exit=88 after=1s", "run")
		never := v1.ContainerRestartPolicyNever
		pod.Spec.Containers[0].RestartPolicy = &never
		pod.Spec.Containers[0].RestartPolicyRules = []v1.ContainerRestartRule{{
			Action: v1.ContainerRestartRuleActionRestartAllContainers, ExitCodes: &v1.ContainerRestartRuleOnExitCodes{Operator: v1.ContainerRestartRuleOnExitCodesOpIn, Values: []int32{88}},
		}}
	}, func(l *life) { l.await("restarted", restarts(1)) }},
	{"one of two has ended", func(s *story, pod *v1.Pod) {
		pod.Spec.RestartPolicy = v1.RestartPolicyNever
		s.Program("main", "exit=0 after=1s")
		other := pod.Spec.Containers[0]
		other.Name = "other"
		pod.Spec.Containers = append(pod.Spec.Containers, other)
	}, func(l *life) { time.Sleep(5 * time.Second) }},
	{"sidecar has not started up", func(s *story, pod *v1.Pod) {
		s.Command("proxy", "exit=1 out=no_certificate", "exit=1 out=no_certificate")
		always := v1.ContainerRestartPolicyAlways
		proxy := pod.Spec.Containers[0]
		proxy.Name, proxy.RestartPolicy, proxy.StartupProbe = "proxy", &always, execProbe(10, "started")
		pod.Spec.InitContainers = []v1.Container{proxy}
	}, func(l *life) { time.Sleep(12 * time.Second) }},
	{"sandbox cannot be stopped", func(s *story, _ *v1.Pod) { s.Fault("fail StopPodSandbox message=network_is_busy times=5") }, func(l *life) {
		l.await("running", running)
		l.stop(5)
		time.Sleep(2 * time.Second)
	}},
	{"sandbox takes long to stop", func(s *story, _ *v1.Pod) { s.Fault("slow StopPodSandbox by=1m") }, func(l *life) {
		l.await("running", running)
		l.stop(5)
		time.Sleep(10 * time.Second)
	}},
	{"killed without an order", func(s *story, _ *v1.Pod) { s.Program("main", "exit=139 after=1s", "run") }, func(l *life) { l.await("restarted", restarts(1)) }},
	{"says why", func(s *story, _ *v1.Pod) { s.Program("main", "exit=1 after=1s message=no_such_table", "run") }, func(l *life) { l.await("restarted", restarts(1)) }},
	{"gone after restarts", func(s *story, _ *v1.Pod) {
		s.Program("main", "exit=1 after=1s message=no_such_table", "exit=2 after=1s", "exit=2 after=1s", "run term=0")
	}, func(l *life) {
		l.await("restarted", restarts(3))
		l.ends(5)
	}},
	{"gone after restarts of all", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		for n, why := range []string{"lifepod restart", "new data"} {
			l.worker.Post(lifecycle.RestartRequested{Because: lifecycle.Because{Text: why}})
			l.await("restarted", restarts(int32(n)+1))
			time.Sleep(time.Minute)
		}
		l.ends(5)
	}},
	{"all well", func(*story, *v1.Pod) {}, func(l *life) {
		l.await("running", running)
		time.Sleep(time.Minute)
	}},
}

// TestWhy asks of each pod why it is as it is, through the journal that its worker has written.
func TestWhy(t *testing.T) {
	for _, cause := range causes {
		storyOf(t, cause.name, func(t *testing.T, s *story) {
			in := s.withJournal()
			pod := podOf("web", v1.RestartPolicyAlways, "main")
			cause.make(s, pod)
			cause.until(s.run(pod))
			synctest.Wait()
			record := assert.Get(in.Read(string(pod.UID))).Must(t)
			compareWhy(t, cause.name, record)
		})
	}
}

func compareWhy(t *testing.T, name string, record *journal.Record) {
	t.Helper()
	e := why.Explain(record, time.Now().UTC(), sentence.English)
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
		assert.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want := assert.Get(os.ReadFile(path)).Must(t)
	assert.Deep(t, "why", string(want), text)
}
