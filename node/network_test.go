package node

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/roster"
)

// connected is a runtime whose network is ready.
type connected struct {
	runtimeapi.RuntimeServiceClient
}

func (connected) Status(context.Context, *runtimeapi.StatusRequest, ...grpc.CallOption) (*runtimeapi.StatusResponse, error) {
	return &runtimeapi.StatusResponse{Status: &runtimeapi.RuntimeStatus{Conditions: []*runtimeapi.RuntimeCondition{
		{Type: runtimeapi.NetworkReady, Status: true},
	}}}, nil
}

// A pod of the API that begins waits until its node has service traffic, and says so
// when that takes long (A-SYNC-6). A static pod, which begins without an API server,
// does not; nor does any where others do the traffic.
func TestNetworkAwaitsTraffic(t *testing.T) {
	never, at := time.Duration(-1), time.Second
	for name, test := range map[string]struct {
		begins time.Duration // traffic
		static bool
		takes  time.Duration
		refuse bool
	}{
		"begins":  {begins: at, takes: at},
		"late":    {begins: never, takes: trafficPatience, refuse: true},
		"static":  {begins: never, static: true},
		"already": {},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				traffic := make(chan struct{})
				if test.begins >= 0 {
					time.AfterFunc(test.begins, func() { close(traffic) })
					synctest.Wait()
				}
				pod := &v1.Pod{}
				if test.static {
					pod.Annotations = map[string]string{source.SourceAnnotation: string(roster.File)}
				}
				began := time.Now()
				err := (&network{runtime: connected{}, traffic: traffic}).Ready(t.Context(), pod)
				assert.Equal(t, test.takes, time.Since(began), "it took")
				refused := err != nil
				assert.True(t, refused == test.refuse && (!refused || strings.Contains(err.Error(), "default/kubernetes")), "error %v", err)
			})
		})
	}
	assert.NoError(t, (&network{runtime: connected{}}).Ready(t.Context(), &v1.Pod{}), "where others do the traffic")
}
