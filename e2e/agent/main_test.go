package agent

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
)

var (
	binary string                     // the lifepod that is tested
	plane  *controlplane.ControlPlane // of all tests
	client kubernetes.Interface       // an administrator
	shared *member.Member             // the node of the tests that need none of their own
)

// sharedConfiguration switches on what is off by default.
var sharedConfiguration = map[string]any{
	"featureGates":         map[string]bool{"PodCertificateRequest": true, "PodsAPI": true},
	"enableSystemLogQuery": true,
}

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := testAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e/agent:", err)
		code = 1
	}
	os.Exit(code)
}

func testAll(m *testing.M) (code int, err error) {
	if os.Geteuid() != 0 {
		return 0, errors.New("these tests run containers: run them as root")
	}
	work, err := os.MkdirTemp("", "lp-e2e-agent-")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if binary, err = machine.Binary("../..", work); err != nil {
		return 0, err
	}
	if err := parallelByDefault(); err != nil {
		return 0, err
	}
	if plane, err = controlplane.Start(context.Background()); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	return testOnNode(m)
}

func testOnNode(m *testing.M) (code int, err error) {
	ctx := context.Background()
	if client, err = kubernetes.NewForConfig(plane.RESTConfig()); err != nil {
		return 0, err
	}
	if shared, err = member.Start(ctx, member.Config{Plane: plane, Program: binary, Kubelet: sharedConfiguration}); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, shared.Close()) }()
	if err := shared.AwaitReady(ctx); err != nil {
		return 0, err
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
