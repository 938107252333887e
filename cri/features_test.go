package cri_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/cri"
)

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
		if err != nil || !features.SupplementalGroupsPolicy {
			t.Errorf("features %+v, %v", features, err)
		}
	})
}
