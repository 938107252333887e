package faults

import (
	"context"
	"errors"
	"flag"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
)

// The sizes of the short forms; `make soak-agent` has the long ones.
var (
	seed       = flag.Uint64("faults.seed", 1, "what the tests draw their lots from")
	kills      = flag.Int("faults.kills", 8, "how often the agent is killed")
	runtimeEnd = flag.Int("faults.runtime-kills", 3, "how often containerd is killed")
	outage     = flag.Duration("faults.outage", 2*time.Second, "how long the API server is stopped, and the network cut")
	failing    = flag.Duration("faults.failing", 10*time.Second, "how long calls of the runtime fail")
	churnPods  = flag.Int("faults.churn-pods", 20, "how many pods are created and deleted at a time")
	churnTime  = flag.Duration("faults.churn-time", 20*time.Second, "for how long")
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

var (
	plane   *controlplane.ControlPlane // of all tests; who stops its API server runs alone
	admin   kubernetes.Interface
	program string // the lifepod that is tested
)

func TestMain(m *testing.M) {
	machine.Suite("../..", func(_, lifepod string) (code int, err error) {
		program = lifepod
		if plane, err = controlplane.Start(context.Background()); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, plane.Close()) }()
		if admin, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
			return 1, err
		}
		return plane.Run(m), nil
	})
}
