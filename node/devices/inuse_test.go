package devices

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	"github.com/lifepod/lifepod/internal/assert"
)

// A-DRA-13: what is prepared, and what drivers are asked.
func TestInUse(t *testing.T) {
	pod := podNamed("p", named("a"), named("b"))
	n := claimsNewNode(t, claimFor("a", "gpu.example.com", pod), claimFor("b", "nic.example.com", pod))
	asked := map[string]int{}
	n.config.Counted = func(driver string) grpc.DialOption {
		return grpc.WithChainUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, next grpc.UnaryInvoker, options ...grpc.CallOption) error {
			asked[driver+" "+method]++
			return next(ctx, method, request, reply, conn, options...)
		})
	}
	n.restart()
	check := func(want map[string]int) {
		t.Helper()
		assert.Deep(t, "A-DRA-13: in use", want, n.InUse())
	}
	check(map[string]int{"<any>": 0})
	n.register(serve(t, "gpu.example.com", nil))
	n.register(serve(t, "nic.example.com", nil))
	assert.Must(t, n.Prepare(t.Context(), pod))
	check(map[string]int{"<any>": 2, "gpu.example.com": 1, "nic.example.com": 1})
	assert.Must(t, n.Unprepare(t.Context(), pod.UID))
	check(map[string]int{"<any>": 0})
	want := map[string]int{}
	for _, driver := range []string{"gpu.example.com", "nic.example.com"} {
		for _, method := range []string{"NodePrepareResources", "NodeUnprepareResources"} {
			want[driver+" /k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"+method] = 1
		}
	}
	assert.Deep(t, "A-DRA-13: asked", want, asked)
}
