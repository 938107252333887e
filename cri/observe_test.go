package cri_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifecycle"
)

func makeContainer(t *testing.T, r *crifake.Runtime, pod, sandboxID, name string, start bool) string {
	t.Helper()
	out, err := r.CreateContainer(t.Context(), &runtimeapi.CreateContainerRequest{PodSandboxId: sandboxID, Config: &runtimeapi.ContainerConfig{
		Metadata: &runtimeapi.ContainerMetadata{Name: name, Attempt: 3},
		Labels:   map[string]string{cri.PodUIDLabel: "uid-" + pod},
	}})
	assert.Require(t, err == nil, "%v", err)
	if start {
		assert.Must(t, assert.ErrorOf(r.StartContainer(t.Context(), &runtimeapi.StartContainerRequest{ContainerId: out.ContainerId})))
	}
	return out.ContainerId
}

func describe(s *runtimeapi.ContainerStatus) lifecycle.ContainerExited {
	return lifecycle.ContainerExited{ContainerID: s.Id, ExitCode: s.ExitCode, Reason: s.Reason}
}

func said(s *runtimeapi.ContainerStatus) lifecycle.ContainerRunning {
	return lifecycle.ContainerRunning{ContainerID: s.Id}
}

// A snapshot has all of its pod and nothing of others.
func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := crifake.New()
		r.Program("ended", "exit=7")
		box, other := runSandbox(t, r, "a"), runSandbox(t, r, "b")
		made := makeContainer(t, r, "a", box, "made", false)
		before := time.Now()
		runs := makeContainer(t, r, "a", box, "runs", true)
		ended := makeContainer(t, r, "a", box, "ended", true)
		makeContainer(t, r, "b", other, "runs", true)
		time.Sleep(time.Minute)
		began := time.Now()
		got := assert.Get(cri.Observe(t.Context(), r, "uid-a", cri.Describe{Exit: describe, Running: said})).Must(t)
		startedAt := before.Add(24 * time.Millisecond) // created in 4, in the middle of its start's 40
		want := lifecycle.Observed{
			Began:     began,
			Sandboxes: []lifecycle.ObservedSandbox{{ID: box, Ready: true, IPs: []string{"10.0.0.1"}}},
			Containers: []lifecycle.ObservedContainer{
				{ID: made, Name: "made", Attempt: 3, SandboxID: box, State: lifecycle.StateCreated, Reported: &lifecycle.ContainerRunning{ContainerID: made}},
				{ID: runs, Name: "runs", Attempt: 3, SandboxID: box, State: lifecycle.StateRunning, StartedAt: startedAt, Reported: &lifecycle.ContainerRunning{ContainerID: runs}},
				{
					ID: ended, Name: "ended", Attempt: 3, SandboxID: box, State: lifecycle.StateExited,
					StartedAt: startedAt.Add(44 * time.Millisecond),
					Exit:      &lifecycle.ContainerExited{ContainerID: ended, ExitCode: 7, Reason: "Error"},
					Reported:  &lifecycle.ContainerRunning{ContainerID: ended},
				},
			},
		}
		assert.Deep(t, "snapshot", want, got, cmpopts.EquateApproxTime(0))
	})
}

// What is removed while the snapshot is taken is left out; any other error ends it (A-PLEG-3).
func TestObserveMeetsErrors(t *testing.T) {
	for _, test := range []struct {
		fault string
		want  string // the error's beginning; empty for none
	}{
		{"fail PodSandboxStatus code=NotFound", ""},
		{"fail ContainerStatus code=NotFound", ""},
		{"fail ListPodSandbox code=Unavailable", "list sandboxes: "},
		{"fail ListContainers code=Unavailable", "list containers: "},
		{"fail PodSandboxStatus code=Unavailable", "status of sandbox a-1: "},
		{"fail ContainerStatus code=Unavailable", "status of container main-2: "},
	} {
		t.Run(test.fault, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := crifake.New()
				makeContainer(t, r, "a", runSandbox(t, r, "a"), "main", true)
				r.Fault(test.fault)
				_, err := cri.Observe(t.Context(), r, "uid-a", cri.Describe{Exit: describe, Running: said})
				assert.True(t, (err == nil) == (test.want == "") && (err == nil || strings.HasPrefix(err.Error(), test.want)),
					"error %v, want %q", err, test.want)
			})
		})
	}
}

// Addresses come from the sandbox's status; one that is none discards all (A-SBX-4, A-CST-17).
func TestIPs(t *testing.T) {
	status := &runtimeapi.PodSandboxStatus{Network: &runtimeapi.PodSandboxNetworkStatus{
		Ip: "10.0.0.1", AdditionalIps: []*runtimeapi.PodIP{{Ip: "fd00::1"}},
	}}
	assert.Deep(t, "addresses", []string{"10.0.0.1", "fd00::1"}, cri.IPs(status))
	status.Network.AdditionalIps[0].Ip = "fd00::x"
	got := cri.IPs(status)
	assert.True(t, got == nil, "addresses of a sandbox one of whose is none: %q", got)
	got = cri.IPs(&runtimeapi.PodSandboxStatus{})
	assert.True(t, got == nil, "addresses of a sandbox without network: %q", got)
}

// dying is a runtime that is being started again until a moment.
type dying struct {
	runtimeapi.RuntimeServiceClient
	until time.Time
}

func (d dying) Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	if time.Now().Before(d.until) {
		return nil, status.Error(codes.Unavailable, "connection refused")
	}
	return &runtimeapi.StatusResponse{Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true}}, nil
}

// A runtime that dies while a lifepod starts is asked again (B-RST-9).
func TestFeaturesOfDyingRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := cri.Client{Runtime: dying{until: time.Now().Add(3 * time.Second)}}
		features, err := client.Features(t.Context())
		assert.True(t, err == nil && features.SupplementalGroupsPolicy, "features %+v, %v", features, err)
	})
}
