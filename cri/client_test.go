package cri_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
	"github.com/lifepod/lifepod/internal/assert"
)

// answering is a runtime that says who it is.
type answering struct {
	runtimeapi.RuntimeServiceClient
	version string
	status  *runtimeapi.StatusResponse
}

func (a answering) Version(context.Context, *runtimeapi.VersionRequest, ...grpc.CallOption) (*runtimeapi.VersionResponse, error) {
	return &runtimeapi.VersionResponse{RuntimeName: "mine", Version: a.version}, nil
}

func (a answering) Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	return a.status, nil
}

func condition(kind string, status bool) *runtimeapi.RuntimeCondition {
	return &runtimeapi.RuntimeCondition{Type: kind, Status: status, Reason: "R", Message: "m"}
}

func TestCheck(t *testing.T) {
	status := func(network bool) *runtimeapi.StatusResponse {
		return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
			condition("RuntimeReady", true), condition("NetworkReady", network), condition("Other", false),
		}}}
	}
	for _, tc := range []struct {
		name    string
		runtime answering
		want    string
	}{
		{"A-CRI-13 a runtime that is ready", answering{version: "0.1.0", status: status(true)}, ""},
		{"A-CRI-13 another API", answering{version: "0.2.0", status: status(true)}, `speaks CRI API version "0.2.0": want 0.1.0`},
		{"no network", answering{version: "0.1.0", status: status(false)}, "NetworkReady is not true: R: m"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			name, err := (&cri.Client{Runtime: tc.runtime}).Check(t.Context())
			assert.True(t, (err == nil) == (tc.want == "") && (err == nil || strings.Contains(err.Error(), tc.want)), "error %v, want %q", err, tc.want)
			assert.True(t, err != nil || name == "mine", "name %q", name)
		})
	}
}

func TestFeatures(t *testing.T) {
	answer := &runtimeapi.StatusResponse{
		Features: &runtimeapi.RuntimeFeatures{SupplementalGroupsPolicy: true},
		RuntimeHandlers: []*runtimeapi.RuntimeHandler{
			{Features: &runtimeapi.RuntimeHandlerFeatures{RecursiveReadOnlyMounts: true, UserNamespaces: true}},
			{Name: "old"},
		},
	}
	for name, tc := range map[string]struct {
		answer *runtimeapi.StatusResponse
		want   cri.Features
	}{
		"A-SEC-6 features by handler": {answer, cri.Features{
			SupplementalGroupsPolicy: true,
			Handlers:                 map[string]cri.HandlerFeatures{"": {RecursiveReadOnly: true, UserNamespaces: true}, "old": {}},
		}},
		"a runtime too old to say": {&runtimeapi.StatusResponse{}, cri.Features{Handlers: map[string]cri.HandlerFeatures{}}},
	} {
		got := assert.Get((&cri.Client{Runtime: answering{status: tc.answer}}).Features(t.Context())).Must(t)
		diff := cmp.Diff(tc.want, got)
		assert.True(t, diff == "", "%s (-want +got):\n%s", name, diff)
	}
}
