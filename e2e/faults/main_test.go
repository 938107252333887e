package faults

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

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

// patience is how long anything may take on a machine that is very busy.
const patience = 3 * time.Minute

var (
	plane   *controlplane.ControlPlane // of all tests; who stops its API server runs alone
	admin   kubernetes.Interface
	program string // the lifepod that is tested
)

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := testAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/faults:", err)
		code = 1
	}
	os.Exit(code)
}

func testAll(m *testing.M) (code int, err error) {
	if os.Geteuid() != 0 {
		return 1, errors.New("these tests run containers: run them as root")
	}
	if err := parallelByDefault(); err != nil {
		return 1, err
	}
	klog.SetLogger(logr.Discard()) // it would log connections that break to stderr
	work, err := os.MkdirTemp("", "lp-faults-")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if program, err = machine.Binary("../..", work); err != nil {
		return 1, err
	}
	if plane, err = controlplane.Start(context.Background()); err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	if admin, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
		return 1, err
	}
	return plane.Run(m), nil
}

// parallelByDefault lets more tests run at a time than there are CPUs: they
// mostly wait.
func parallelByDefault() error {
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if set {
		return nil
	}
	return flag.Set("test.parallel", "4")
}
