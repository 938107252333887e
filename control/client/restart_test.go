package client

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// inState is a pod whose containers are so: NAME RESTARTS STATE, of which STATE is
// running, exited:CODE, REASON of a waiting one, crashed:CODE for one that waits in
// back-off, or created; "-" stands for a container that has not been created.
func inState(t *testing.T, containers ...string) *v1.Pod {
	t.Helper()
	pod := &v1.Pod{}
	pod.Namespace, pod.Name = "default", "web"
	for _, text := range containers {
		fields := strings.Fields(text)
		s := v1.ContainerStatus{Name: fields[0], ContainerID: "containerd://" + fields[1], RestartCount: int32(len(fields[1]) - 1)}
		state, code, _ := strings.Cut(fields[2], ":")
		exit := &v1.ContainerStateTerminated{ContainerID: s.ContainerID}
		if code != "" {
			exit.ExitCode = int32(code[0] - '0')
		}
		switch state {
		case "running":
			s.State.Running = &v1.ContainerStateRunning{}
		case "exited":
			s.State.Terminated = exit
		case "crashed":
			s.State.Waiting, s.LastTerminationState.Terminated = &v1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}, exit
		case "created":
			s.State.Waiting = &v1.ContainerStateWaiting{Reason: "ContainerCreating"}
			if s.RestartCount > 0 {
				exit.ContainerID = strings.TrimSuffix(s.ContainerID, "a") // of the instance before
				s.LastTerminationState.Terminated = exit
			}
		case "-":
			s.ContainerID, s.State.Waiting = "", &v1.ContainerStateWaiting{Reason: "PodInitializing"}
		default:
			s.State.Waiting = &v1.ContainerStateWaiting{Reason: state, Message: "no"}
		}
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, s)
	}
	return pod
}

// watched is a pod whose watch gives these states one after the other, and then ends
// with the pod's deletion.
func watched(t *testing.T, states ...*v1.Pod) *Pod {
	t.Helper()
	c := New(t.TempDir(), "/root")
	serve(t, filepath.Join(c.Folder, "1.sock"), func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/pods" {
			_, _ = w.Write([]byte(`{"items":[{"metadata":{"namespace":"default","name":"web"}}]}`)) // else the test fails
			return
		}
		out := json.NewEncoder(w)
		for _, s := range states {
			if out.Encode(map[string]any{"type": "MODIFIED", "object": s}) != nil {
				return
			}
		}
		_ = out.Encode(map[string]any{"type": "DELETED", "object": &v1.Pod{}}) // the client may have gone
	})
	return assert.Get(c.Find(t.Context(), "web", "")).Must(t)
}

// restarts are counted by the letters of a container's ID: "a" is the first instance,
// "aa" the one after its first restart.
func TestAwaitRestart(t *testing.T) {
	for name, tc := range map[string]struct {
		before, then []string // states of one container a, separated by commas where there are two
		err          string
	}{
		"runs again":                       {before: []string{"a a running"}, then: []string{"a a running", "a a exited:1", "a aa running"}},
		"has run again":                    {before: []string{"a a running"}, then: []string{"a a running", "a aa crashed:1"}},
		"is only created":                  {before: []string{"a a running"}, then: []string{"a aa created"}, err: "pod default/web has ended meanwhile"},
		"is only created, the first time":  {before: []string{"a - -"}, then: []string{"a a created"}, err: "pod default/web has ended meanwhile"},
		"had been created":                 {before: []string{"a a created"}, then: []string{"a aa running"}},
		"had not started":                  {before: []string{"a - -"}, then: []string{"a - -", "a a running"}},
		"all of them":                      {before: []string{"a a running", "b b running"}, then: []string{"a a running,b b running", "a aa running,b b exited:1", "a aa running,b bb running"}},
		"its image is gone":                {before: []string{"a a running"}, then: []string{"a a exited:1", "a a ErrImageNeverPull"}, err: "container a does not start: ErrImageNeverPull: no"},
		"an image that was missing before": {before: []string{"a a ImagePullBackOff"}, then: []string{"a a ImagePullBackOff", "a aa running"}},
		"the pod is gone":                  {before: []string{"a a running"}, then: []string{"a a running"}, err: "pod default/web has ended meanwhile"},
	} {
		t.Run(name, func(t *testing.T) {
			var states []*v1.Pod
			for _, text := range tc.then {
				states = append(states, inState(t, strings.Split(text, ",")...))
			}
			pod := watched(t, states...)
			names := []string{"a"}
			if len(tc.before) > 1 {
				names = append(names, "b")
			}
			assert.Error(t, tc.err, pod.AwaitRestart(t.Context(), inState(t, tc.before...), names))
		})
	}
}

// AwaitEnd tells of one instance, also when another has followed it.
func TestAwaitEnd(t *testing.T) {
	restarted := inState(t, "a aa running")
	restarted.Status.ContainerStatuses[0].LastTerminationState.Terminated = &v1.ContainerStateTerminated{ExitCode: 7}
	for name, states := range map[string][]*v1.Pod{
		"exited":         {inState(t, "a a running"), inState(t, "a a exited:7")},
		"in back-off":    {inState(t, "a a running"), inState(t, "a a crashed:7")},
		"runs anew":      {inState(t, "a a running"), restarted},
		"exited at once": {inState(t, "a a exited:7")},
	} {
		pod := watched(t, states...)
		code, err := pod.AwaitEnd(t.Context(), "a", 0)
		assert.True(t, code == 7 && err == nil, "%s: %d, %v, want 7", name, code, err)
	}
	pod := watched(t, inState(t, "a a running"))
	assert.Fails(t, assert.ErrorOf(pod.AwaitEnd(t.Context(), "a", 0)), "the pod has gone without its exit, and that is no error")
}
