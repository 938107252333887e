package csi

import (
	"context"
	"slices"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-CSI-17: each call of a driver is counted.
func TestCounted(t *testing.T) {
	m := csidriverNewMachine(t, csiTestNode("uid-1", nil))
	var mu sync.Mutex
	var asked []string
	m.config.Counted = func(driver string) grpc.DialOption {
		return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
			mu.Lock()
			asked = append(asked, driver+" "+method)
			mu.Unlock()
			return next(ctx, method, request, reply, conn, options...)
		})
	}
	m.register("d", serve(t, DriverOnNode{NodeID: "n-1"}))
	d, err := m.Driver("d")
	assert.Must(t, err)
	assert.Must(t, d.Unpublish(t.Context(), "v", "/p"))
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"d /csi.v1.Node/NodeGetInfo", "d /csi.v1.Node/NodeUnpublishVolume"}; !slices.Equal(asked, want) {
		t.Errorf("A-CSI-17: asked %q, want %q", asked, want)
	}
}
