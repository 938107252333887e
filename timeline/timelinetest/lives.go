package timelinetest

import (
	"strings"
	"time"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Web is a pod that waited for its image, became Ready by its probes, and was deleted later.
func Web() *journal.Record {
	s := New("web",
		journal.Container{Name: "setup", Kind: "init", Image: "busybox:1.37"},
		journal.Container{Name: "main", Kind: "container", Image: "registry.example/web:2"},
	)
	s.pod.Created, s.pod.Scheduled = At(-3*time.Second), At(-2*time.Second)
	s.pod.Labels = map[string]string{"app": "web"}
	setup, main := journal.Entry{Container: "setup"}, journal.Entry{Container: "main"}
	accepted := s.Fact(0, "Accepted", "", 0)
	s.Work(accepted, 0, 2*ms, journal.Entry{Name: "EnsureCgroup"})
	volumes := s.Work(accepted, 0, 40*ms, journal.Entry{Name: "MountVolumes"})
	s.Work(accepted, 0, 3*ms, named(setup, "InspectImage", "busybox:1.37", 4_500_000))
	checked := s.Work(accepted, 0, 4*ms, named(main, "InspectImage", "registry.example/web:2", 0))
	sandbox := s.Work(volumes, 40*ms, 190*ms, journal.Entry{Name: "CreateSandbox"})
	s.Decided(190*ms, sandbox, 0, lifecycle.Report{Subject: "pod", Kind: "sandbox-ready-at", On: "10.0.0.2", Rule: "A-COND-3"})
	pulling := s.Decided(4*ms, checked, 0, lifecycle.Report{Subject: "main", Kind: "pulling", On: "registry.example/web:2", Rule: "A-IMG-4"})
	pulled := s.Work(pulling, 4*ms, 4210*ms, named(main, "PullImage", "registry.example/web:2", 187_000_000))
	s.Decided(4210*ms, pulled, 0, lifecycle.Report{Subject: "main", Kind: "pulled", On: "registry.example/web:2", Span: 4206 * ms, Rule: "A-IMG-4"})

	s.start(sandbox, 190*ms, setup)
	s.Exit(900*ms, 0, exit(setup, 0), "", 0)
	s.start(pulled, 4210*ms, main)
	s.fails(5300*ms, main, "startup 1", "dial tcp 10.0.0.2:8080: connect: connection refused")
	up := s.Add(6300*ms, journal.Entry{Kind: journal.Fact, Name: "Probed", Container: "main", Value: "success", Detail: map[string]string{journal.DetailProbe: "startup"}})
	has := s.Decided(6300*ms, up, 0, lifecycle.Report{Subject: "main", Kind: "has-started-up", Because: lifecycle.Because{Kind: "startup-probe-succeeded"}, Rule: "A-CST-12"})
	s.Shown(6300*ms, has, journal.Entry{Name: "started", Value: "true", Container: "main"})
	ready := s.Add(7300*ms, journal.Entry{Kind: journal.Fact, Name: "Probed", Container: "main", Value: "success", Detail: map[string]string{journal.DetailProbe: "readiness"}})
	s.ready(7300*ms, ready, main)

	stop := s.Add(20*time.Second, journal.Entry{Kind: journal.Fact, Name: "StopRequested", Detail: map[string]string{journal.DetailBecause: "deleted"}})
	s.Shown(20*time.Second, stop, journal.Entry{Name: "Ready", Value: "False"})
	s.end(20*time.Second, stop, main, true)
	return s.Record()
}

// Crashing is a pod whose container has crashed twice and was killed once because its liveness probe
// failed; it waits for its back-off.
func Crashing() (record *journal.Record, now time.Time) {
	s := New("worker", journal.Container{Name: "worker", Kind: "container", Image: "busybox:1.37"})
	last := s.begins("worker")
	for i, at := range []time.Duration{250 * ms, 900 * ms, 12 * time.Second} {
		e := journal.Entry{Container: "worker", Attempt: uint32(i)}
		if i > 0 {
			last = s.Work(last, at, at+ms, named(e, "InspectImage", "busybox:1.37", 4_500_000))
		}
		started := s.start(last, at, e)
		s.ready(at+80*ms, started, e)
		after := []time.Duration{0, 10 * time.Second, 20 * time.Second}[i]
		ended, cause := at+600*ms, int64(0)
		if i == 2 {
			s.fails(at+1*time.Second, e, "liveness 1", "HTTP probe failed with statuscode: 503")
			probed := s.fails(at+2*time.Second, e, "liveness 2", "HTTP probe failed with statuscode: 503")
			killed := s.Decided(at+2*time.Second, probed, 2, lifecycle.Report{
				Subject: "worker", Kind: lifecycle.KindProbeFailed, On: "liveness", Message: "HTTP probe failed with statuscode: 503",
				Outcome: "then-restart", Because: lifecycle.Because{Kind: lifecycle.BecauseOften, Nth: 2}, Rule: "A-ACT-8",
			})
			cause = s.Begun(killed, at+2*time.Second, named(e, "StopContainer", "", 0))
			ended = at + 4*time.Second
		}
		last = s.Exit(ended, cause, exit(e, []int32{1, 1, 137}[i]), lifecycle.ThenRestart, after)
		s.Shown(ended, last, journal.Entry{Name: "Ready", Value: "False"})
	}
	return s.Record(), At(20 * time.Second)
}

// Unpullable is a pod that has never begun to run: its image can't be pulled.
func Unpullable() (record *journal.Record, now time.Time) {
	s := New("typo", journal.Container{Name: "main", Kind: "container", Image: "registry.example/wbe:2"})
	last := s.Fact(0, "Accepted", "", 0)
	main := named(journal.Entry{Container: "main"}, "InspectImage", "registry.example/wbe:2", 0)
	volumes := s.Work(last, 0, 30*ms, journal.Entry{Name: "MountVolumes"})
	s.Work(volumes, 30*ms, 150*ms, journal.Entry{Name: "CreateSandbox"})
	for i, at := range []time.Duration{0, 10 * time.Second, 31 * time.Second} {
		last = s.Work(last, at, at+ms, main)
		pull := named(main, "PullImage", main.Image, 0)
		pull.Failure = &journal.Failure{Class: "failed", Reason: "ErrImagePull", Message: "registry.example/wbe:2: not found"}
		last = s.Work(last, at+ms, at+400*ms, pull)
		last = s.Decided(at+400*ms, last, 0, lifecycle.Report{
			Subject: "main", Kind: "image-failed", Reason: "ErrImagePull", Message: "registry.example/wbe:2: not found",
			Outcome: lifecycle.ThenTryAgain, Span: 10 * time.Second << i, Rule: "A-IMG-5",
		})
	}
	s.Shown(ms, 1, journal.Entry{Name: "phase", Value: "Pending"})
	return s.Record(), At(40 * time.Second)
}

// Resumed is a pod whose lifepod was killed while it made the sandbox; another one went on with it.
func Resumed() (record *journal.Record, now time.Time) {
	s := New("resumed", journal.Container{Name: "main", Kind: "container", Image: "busybox:1.37"})
	accepted := s.Fact(0, "Accepted", "", 0)
	volumes := s.Work(accepted, 0, 20*ms, journal.Entry{Name: "MountVolumes"})
	s.Begun(volumes, 20*ms, journal.Entry{Name: "CreateSandbox"})
	resumed := s.Fact(5*time.Second, "Resumed", "", 0)
	sandbox := s.Work(resumed, 5*time.Second, 5200*ms, journal.Entry{Name: "CreateSandbox"})
	main := journal.Entry{Container: "main"}
	s.ready(5300*ms, s.start(sandbox, 5200*ms, main), main)
	return s.Record(), At(3 * time.Hour)
}

// Worker is one of several: it is Ready after so long, most of which was the image pull.
func Worker(name string, pull time.Duration) *journal.Record {
	s := New(name, journal.Container{Name: "main", Kind: "container", Image: "registry.example/train:7"})
	last := s.begins("main")
	main := journal.Entry{Container: "main"}
	last = s.Work(last, 250*ms, 250*ms+pull, named(main, "PullImage", "registry.example/train:7", 2_400_000_000))
	s.ready(330*ms+pull, s.start(last, 250*ms+pull, main), main)
	return s.Record()
}

// Hostile is what a terminal, a browser or a reader must not obey.
const Hostile = "</title></svg><script>alert(1)</script>\" onload='x' \x1b[2J\x1b]0;pwned\a \u202egnp.exe\u202c &amp; {{.}} ${x} `y`\r\n\u2066z"

// Malicious is a pod of which every text is Hostile.
func Malicious() (record *journal.Record, now time.Time) {
	s := New(Hostile, journal.Container{Name: Hostile, Kind: "container", Image: Hostile})
	s.pod.Namespace, s.pod.Node, s.pod.Owner = Hostile, Hostile, Hostile
	s.pod.Labels = map[string]string{Hostile: Hostile}
	e := journal.Entry{Container: Hostile}
	last := s.begins(Hostile)
	pull := named(e, "PullImage", Hostile, 1)
	pull.Failure = &journal.Failure{Class: Hostile, Reason: Hostile, Message: Hostile}
	s.Decided(400*ms, s.Work(last, 250*ms, 400*ms, pull), 0, lifecycle.Report{
		Subject: Hostile, Kind: Hostile, Outcome: lifecycle.ThenTryAgain, Span: 10 * time.Second, Because: lifecycle.Because{Text: Hostile}, Rule: Hostile,
	})
	s.fails(500*ms, e, Hostile, Hostile)
	exited := journal.Entry{Kind: journal.Fact, Name: "ContainerExited", Container: Hostile, Exit: &journal.Exit{Code: 1, Reason: Hostile, Message: Hostile}}
	s.start(last, 600*ms, e)
	s.Add(900*ms, exited)
	s.Shown(900*ms, 0, journal.Entry{Name: "phase", Value: Hostile, Because: Hostile})
	s.Add(950*ms, journal.Entry{Kind: journal.Fact, Name: "EvictionRequested", What: Hostile})
	return s.Record(), At(time.Second)
}

// begins is what each pod goes through first: it has a sandbox after 250 ms.
func (s *Story) begins(container string) int64 {
	accepted := s.Fact(0, "Accepted", "", 0)
	s.Work(accepted, 0, 2*ms, journal.Entry{Name: "EnsureCgroup"})
	s.Work(accepted, 0, 3*ms, named(journal.Entry{Container: container}, "InspectImage", "busybox:1.37", 4_500_000))
	volumes := s.Work(accepted, 0, 30*ms, journal.Entry{Name: "MountVolumes"})
	return s.Work(volumes, 30*ms, 250*ms, journal.Entry{Name: "CreateSandbox"})
}

// named is an entry of a container with a name, and an image.
func named(e journal.Entry, name, image string, bytes uint64) journal.Entry {
	return journal.Entry{Container: e.Container, Attempt: e.Attempt, Name: name, Image: image, Bytes: bytes}
}

// start creates and starts an instance, which takes 80 ms.
func (s *Story) start(cause int64, at time.Duration, e journal.Entry) int64 {
	created := s.Work(cause, at, at+30*ms, named(e, "CreateContainer", "", 0))
	started := s.Work(created, at+30*ms, at+80*ms, named(e, "StartContainer", "", 0))
	s.Decided(at+80*ms, started, e.Attempt, lifecycle.Report{Subject: e.Container, Kind: lifecycle.KindStarted, Rule: "A-ACT-10"})
	s.Shown(at+80*ms, started, journal.Entry{Name: "state", Value: "running", Container: e.Container, Attempt: e.Attempt})
	s.Shown(at+80*ms, started, journal.Entry{Name: "phase", Value: "Running"})
	return started
}

// ready makes a container ready, and the pod with it.
func (s *Story) ready(at time.Duration, cause int64, e journal.Entry) {
	decided := s.Decided(at, cause, 0, lifecycle.Report{Subject: "pod", Kind: "pod-ready", Rule: "A-COND-6"})
	for _, name := range []string{"started", "ready"} {
		s.Shown(at, cause, journal.Entry{Name: name, Value: "true", Container: e.Container, Attempt: e.Attempt})
	}
	s.Shown(at, decided, journal.Entry{Name: "Ready", Value: "True"})
}

// fails adds a failure of a probe; which is its kind, and how many failures that makes in a row.
func (s *Story) fails(at time.Duration, e journal.Entry, which, output string) int64 {
	probe, count, _ := strings.Cut(which, " ")
	return s.Add(at, journal.Entry{
		Kind: journal.Fact, Name: "Probed", Container: e.Container, Attempt: e.Attempt, Value: "failure",
		Detail: map[string]string{journal.DetailProbe: probe, journal.DetailFailures: count, journal.DetailOutput: output},
	})
}

// end ends a pod of one container, with a preStop hook of a second if it has one.
func (s *Story) end(at time.Duration, cause int64, e journal.Entry, hook bool) {
	if hook {
		run := named(e, "RunHook", "", 0)
		run.Detail = map[string]string{journal.DetailHook: "PreStop"}
		cause = s.Work(cause, at, at+time.Second, run)
		at += time.Second
	}
	stop := named(e, "StopContainer", "", 0)
	s.Work(cause, at, at+700*ms, stop)
	at += 700 * ms
	s.Exit(at, cause, exit(e, 143), "", 0)
	sandbox := s.Work(cause, at, at+60*ms, journal.Entry{Name: "StopSandbox"})
	s.Work(cause, at, at+5*ms, journal.Entry{Name: "UnmountVolumes"})
	s.Work(sandbox, at+60*ms, at+80*ms, journal.Entry{Name: "RemoveSandbox"})
	s.Shown(at+80*ms, sandbox, journal.Entry{Name: "phase", Value: "Failed"})
	s.Work(sandbox, at+80*ms, at+90*ms, journal.Entry{Name: "RemoveCgroup"})
	s.Begun(sandbox, at+90*ms, journal.Entry{Name: "Finish"})
	s.living = false
}

// exit is the end of an instance.
func exit(e journal.Entry, code int32) journal.Entry {
	e.Kind, e.Name, e.Exit = journal.Fact, "ContainerExited", &journal.Exit{Code: code, Reason: "Error"}
	if code == 0 {
		e.Exit.Reason = "Completed"
	}
	return e
}
