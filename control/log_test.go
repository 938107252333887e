package control

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/criconfig"
)

func running(restarts int32) v1.ContainerStatus {
	return v1.ContainerStatus{Name: "main", RestartCount: restarts, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}}
}

func terminated(restarts, code int32) v1.ContainerStatus {
	return v1.ContainerStatus{Name: "main", RestartCount: restarts, State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: code}}}
}

func waiting(restarts int32, reason string) v1.ContainerStatus {
	return v1.ContainerStatus{Name: "main", RestartCount: restarts, State: v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason}}}
}

func after(c v1.ContainerStatus, code int32) v1.ContainerStatus {
	c.LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: code}
	return c
}

// write makes the log of one instance.
func (s *served) write(instance int, text string) {
	s.t.Helper()
	path := filepath.Join(s.LogDir, criconfig.ContainerLogPath("main", instance))
	assert.Must(s.t, os.MkdirAll(filepath.Dir(path), 0o700))
	assert.Must(s.t, os.WriteFile(path, []byte("2026-01-02T03:04:05Z stdout F "+text+"\n"), 0o600))
}

func (s *served) status(phase v1.PodPhase, c v1.ContainerStatus) {
	s.Object.Status(v1.PodStatus{Phase: phase, ContainerStatuses: []v1.ContainerStatus{c}})
}

// Which instance's log is meant, as an API server chooses it.
func TestLogInstance(t *testing.T) {
	for _, tc := range []struct {
		name     string
		status   v1.ContainerStatus
		log      string // or the error
		previous string
	}{
		{"first", running(0), "zero", `400 previous terminated container "main" in pod "web" not found`},
		{"restarted", after(running(2), 1), "two", "one"},
		{"ended", after(terminated(1, 0), 1), "one", "zero"},
		{"waits to be restarted", after(waiting(2, "CrashLoopBackOff"), 1), "two", "two"},
		{"is being made again", after(waiting(3, "ContainerCreating"), 1), "two", "two"},
		{"log is gone", after(running(4), 1), `404 the log of container "main", restart count 4, is not there any more`, `404 the log of container "main", restart count 3, is not there any more`},
		{"yet to start", waiting(0, "PodInitializing"), `400 container "main" in pod "web" is waiting to start: PodInitializing`, `400 previous terminated container "main" in pod "web" not found`},
		{"no image", waiting(0, "ErrImagePull"), `400 container "main" in pod "web" is waiting to start: image can't be pulled`, `400 previous terminated container "main" in pod "web" not found`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := serveTest(t)
			for n, text := range []string{"zero", "one", "two"} {
				s.write(n, text)
			}
			s.status(v1.PodRunning, tc.status)
			for query, want := range map[string]string{"": tc.log, "?previous=true": tc.previous} {
				assert.Equal(t, want, s.read("/v1/namespaces/default/pods/web/log"+query), "log%s", query)
			}
		})
	}
}

// read is a log's text without its last newline, or the error.
func (s *served) read(path string) string {
	s.t.Helper()
	if got := s.ask(http.MethodGet, path, ""); got != "200" {
		return got
	}
	response := assert.Get(http.Get(s.url + path)).Must(s.t)
	defer func() { _ = response.Body.Close() }()
	text := assert.Get(io.ReadAll(response.Body)).Must(s.t)
	return string(text[:max(0, len(text)-1)])
}

// A log is followed from one instance to the next, and ends when the container
// runs no more, or the pod is gone.
func TestFollowLog(t *testing.T) {
	for _, end := range []string{"succeeded", "gone"} {
		t.Run(end, func(t *testing.T) {
			s := serveTest(t)
			s.status(v1.PodRunning, waiting(0, "PodInitializing"))
			response := assert.Get(http.Get(s.url + "/v1/namespaces/default/pods/web/log?follow=true")).Must(t)
			defer func() { _ = response.Body.Close() }()
			s.write(0, "zero")
			s.status(v1.PodRunning, running(0))
			s.status(v1.PodRunning, after(waiting(0, "CrashLoopBackOff"), 1))
			s.write(1, "one")
			s.write(2, "two")
			s.status(v1.PodRunning, after(running(2), 1))
			if end == "gone" {
				s.Object.Gone()
			} else {
				s.status(v1.PodSucceeded, terminated(2, 0))
			}
			text, err := io.ReadAll(response.Body)
			assert.True(t, string(text) == "zero\none\ntwo\n" && err == nil, "%q, %v", text, err)
		})
	}
}

// A client that goes away leaves nobody who follows.
func TestFollowLogWithoutClient(t *testing.T) {
	s := serveTest(t)
	s.write(0, "zero")
	s.status(v1.PodRunning, running(0))
	ctx, cancel := context.WithCancel(t.Context())
	request := assert.Get(http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/v1/namespaces/default/pods/web/log?follow=true", nil)).Must(t)
	response := assert.Get(http.DefaultClient.Do(request)).Must(t)
	line := make([]byte, len("zero\n"))
	_, err := io.ReadFull(response.Body, line)
	assert.Require(t, err == nil && string(line) == "zero\n", "%q, %v", line, err)
	cancel()
	_ = response.Body.Close()
	// the test server's Close, in the cleanup, waits for the request's end
}

func TestEndedForGood(t *testing.T) {
	never, rules := v1.ContainerRestartPolicyNever, []v1.ContainerRestartRule{{}}
	for _, tc := range []struct {
		name   string
		policy v1.RestartPolicy
		status v1.ContainerStatus
		change func(*v1.Pod)
		want   bool
	}{
		{"runs", "Never", running(0), nil, false},
		{"Never", "Never", terminated(0, 0), nil, true},
		{"OnFailure, succeeded", "OnFailure", terminated(0, 0), nil, true},
		{"OnFailure, failed", "OnFailure", terminated(0, 1), nil, false},
		{"Always", "Always", terminated(0, 0), nil, false},
		{"its own policy", "Always", terminated(0, 1), func(p *v1.Pod) { p.Spec.Containers[0].RestartPolicy = &never }, true},
		{"rules of another container may restart it", "Never", terminated(0, 1), func(p *v1.Pod) { p.Spec.Containers[1].RestartPolicyRules = rules }, false},
		{"the pod has ended", "Always", terminated(0, 1), func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }, true},
		{"the pod is ending", "Always", terminated(0, 1), deletedNow, true},
		{"the pod is ending, it runs", "Always", running(0), deletedNow, false},
	} {
		pod := testPod()
		pod.Spec.RestartPolicy = tc.policy
		pod.Status.ContainerStatuses = []v1.ContainerStatus{tc.status}
		if tc.change != nil {
			tc.change(pod)
		}
		assert.Equal(t, tc.want, endedForGood(pod, "main"), "%s", tc.name)
	}
}

func deletedNow(p *v1.Pod) { p.DeletionTimestamp = &p.CreationTimestamp }
