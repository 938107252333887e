package run

import (
	"bytes"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

// What attempts repeat is reported once, and how many there were when one has worked.
func TestRepeatedFailureIsReportedOnce(t *testing.T) {
	var out bytes.Buffer
	began := time.Now()
	p := newPrinter(Options{Stdout: &bytes.Buffer{}, Stderr: &out, Began: began}, podOf("a"))
	tell := func(r lifecycle.Report) { p.report(began, r) }
	absent := lifecycle.Report{Subject: "a", Kind: "image-failed", Reason: "ErrImageNeverPull", Message: "absent", Again: true}
	tell(absent)
	tell(lifecycle.Report{Subject: "pod", Kind: "sandbox-ready"})
	for range 6 {
		tell(absent)
	}
	other := lifecycle.Report{Subject: "a", Kind: "image-failed", Reason: "ImageInspectError", Message: "broken", Again: true}
	tell(other)
	tell(absent)
	tell(lifecycle.Report{Subject: "a", Kind: lifecycle.KindStarted})
	tell(lifecycle.Report{Subject: "a", Kind: lifecycle.KindExited, Code: 1, Outcome: lifecycle.ThenRestart})
	tell(absent)
	tell(lifecycle.Report{Subject: "a", Kind: lifecycle.KindStarted})
	p.close()
	want := `+0.000s a ErrImageNeverPull: absent
+0.000s pod sandbox ready
+0.000s a ImageInspectError: broken
+0.000s a started (after 8 attempts)
+0.000s a exited 1 → restart now
+0.000s a ErrImageNeverPull: absent
+0.000s a started
`
	assert.Deep(t, "stderr", want, out.String())
}

// The hint for an image that may not be pulled comes once, and names the folder.
func TestHintForAbsentImage(t *testing.T) {
	var out bytes.Buffer
	p := newPrinter(Options{Stdout: &bytes.Buffer{}, Stderr: &out, Root: "/srv/pods"}, podOf("a"))
	waiting := v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{
		Name: "a", State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: "ErrImageNeverPull"}},
	}}}
	for range 3 {
		p.setStatus(waiting)
	}
	p.close()
	want := `warning: a: load the image with "lifepod --root /srv/pods image load FILE", or have it pulled: imagePullPolicy: IfNotPresent` + "\n"
	assert.Deep(t, "stderr", want, out.String())
}

// stopped is a pod whose end was asked for.
type stopped struct{ because []string }

func (s *stopped) Stop(r lifecycle.StopRequested) { s.because = append(s.because, r.Because.String()) }

// With --fail-fast the first thing that keeps a container from starting ends the
// pod, once, and is the command's error.
func TestFailFast(t *testing.T) {
	p := newPrinter(Options{Stdout: &bytes.Buffer{}, Stderr: &bytes.Buffer{}}, podOf("a"))
	pod := &stopped{}
	s := &stopper{printer: p, done: make(chan struct{})}
	defer close(s.done)
	s.attach(pod, nil, 0)
	counting := &sink{printer: p, blocked: func(why string) { s.blocked(podOf(), why) }}
	counting.Report(time.Now(), lifecycle.Report{Subject: "a", Kind: lifecycle.KindExited, Code: 1, Outcome: lifecycle.ThenRestart, Span: 10 * time.Second})
	if err := s.failure(); err != nil || pod.because != nil {
		t.Fatalf("a crash has ended the pod: %v, %v", err, pod.because)
	}
	for range 2 {
		counting.Report(time.Now(), lifecycle.Report{Subject: "a", Kind: "image-failed", Reason: "ErrImagePull", Message: "not found", Again: true, Blocks: true})
	}
	s.timeout(time.Second) // it ends already
	assert.Deep(t, "asked to end", []string{"--fail-fast"}, pod.because)
	assert.ErrorContains(t, "can't start: a ErrImagePull: not found", s.failure())
	code := s.exitCode(7)
	assert.True(t, code == 7, "exit code %d: the pod was not interrupted", code)
}
