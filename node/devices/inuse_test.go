package devices

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
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
		if diff := cmp.Diff(want, n.InUse()); diff != "" {
			t.Errorf("A-DRA-13: in use (-want +got):\n%s", diff)
		}
	}
	check(map[string]int{"<any>": 0})
	n.register(serve(t, "gpu.example.com", nil))
	n.register(serve(t, "nic.example.com", nil))
	if err := n.Prepare(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	check(map[string]int{"<any>": 2, "gpu.example.com": 1, "nic.example.com": 1})
	if err := n.Unprepare(t.Context(), pod.UID); err != nil {
		t.Fatal(err)
	}
	check(map[string]int{"<any>": 0})
	want := map[string]int{}
	for _, driver := range []string{"gpu.example.com", "nic.example.com"} {
		for _, method := range []string{"NodePrepareResources", "NodeUnprepareResources"} {
			want[driver+" /k8s.io.kubelet.pkg.apis.dra.v1.DRAPlugin/"+method] = 1
		}
	}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("A-DRA-13: asked (-want +got):\n%s", diff)
	}
}
