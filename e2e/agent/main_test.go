package agent

import (
	"context"
	"errors"
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
	"featureGates":         map[string]bool{"PodCertificateRequest": true},
	"enableSystemLogQuery": true,
}

func TestMain(m *testing.M) {
	machine.Suite("../..", func(_, program string) (code int, err error) {
		binary = program
		if plane, err = controlplane.Start(context.Background()); err != nil {
			return 1, err
		}
		defer func() { err = errors.Join(err, plane.Close()) }()
		return testOnNode(m)
	})
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
