package operator

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/lifepodtest"
	"github.com/lifepod/lifepod/sim/nodes"
)

var plane *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Main(m, &plane) }

// One container crashes and is started again in its pod; another fails its pod, which the operator
// replaces. The names of the pods say which scenario is theirs.
const (
	crashes = `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers:
  main:
    runs: [{run: 1s, exit: 3}, {run: forever}]`
	fails = `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers:
  main:
    runs: [{run: 1s, exit: 4}]`
	runsOn = `
apiVersion: lifepod.dev/v1alpha1
kind: Scenario
containers:
  main:
    runs: [{run: forever}]`
)

// An operator sees its pods become ready, crash, restart and fail, and replaces the one that has failed.
func TestOperator(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	api, err := client.New(plane.RESTConfig(), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ns := namespace(t, api)
	t.Cleanup(func() {
		if err := api.DeleteAllOf(context.Background(), &v1.Node{}, client.MatchingLabels{nodes.SimulatedLabel: "true"}); err != nil {
			t.Error(err)
		}
	})
	lifepodtest.Start(t, plane.RESTConfig(), lifepodtest.Options{Nodes: 3, Scenarios: map[string]string{
		ns + "/crashes-*": crashes, ns + "/fails-0": fails, "": runsOn,
	}})
	start(t, ns)
	for name, policy := range map[string]v1.RestartPolicy{"steady": "Always", "crashes": "OnFailure", "fails": "Never"} {
		worker := &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string]string{"restartPolicy": string(policy)}}
		if err := api.Create(t.Context(), worker); err != nil {
			t.Fatal(err)
		}
	}
	await(t, api, ns, "steady", "0", "ready after 0 restarts")
	await(t, api, ns, "crashes", "0", "ready after 1 restarts")
	await(t, api, ns, "fails", "1", "ready after 0 restarts")
	failed := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "fails-0"}}
	eventually(t, "the pod that has failed is gone", func() (string, bool) {
		err := api.Get(t.Context(), client.ObjectKeyFromObject(failed), failed)
		return string(failed.Status.Phase), apierrors.IsNotFound(err)
	})
}

// start runs the operator until the test ends.
func start(t *testing.T, ns string) {
	t.Helper()
	manager, err := ctrl.NewManager(plane.RESTConfig(), ctrl.Options{
		Metrics: server.Options{BindAddress: "0"},
		Cache:   cache.Options{DefaultNamespaces: map[string]cache.Config{ns: {}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&reconciler{manager.GetClient()}).SetupWithManager(manager); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := manager.Start(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		cancel()
		running.Wait()
	})
}

// namespace is one of the test, whose service account is there.
func namespace(t *testing.T, api client.Client) string {
	t.Helper()
	made := &v1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "operator-"}}
	if err := api.Create(t.Context(), made); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the namespace has a service account", func() (string, bool) {
		err := api.Get(t.Context(), client.ObjectKey{Namespace: made.Name, Name: "default"}, &v1.ServiceAccount{})
		return "", err == nil
	})
	return made.Name
}

// await waits until a worker is in that state with the pod of that attempt.
func await(t *testing.T, api client.Client, ns, name, attempt, state string) {
	t.Helper()
	eventually(t, name+" is "+state+" in attempt "+attempt, func() (string, bool) {
		var worker v1.ConfigMap
		if err := api.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &worker); err != nil {
			return err.Error(), false
		}
		has := worker.Annotations
		return has[stateAnnotation] + " in attempt " + has[attemptAnnotation], has[stateAnnotation] == state && has[attemptAnnotation] == attempt
	})
}

func eventually(t *testing.T, what string, is func() (string, bool)) {
	t.Helper()
	ctx := assert.Context(t, 2*time.Minute)
	for {
		state, so := is()
		if so {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("want that %s; it is %s", what, state)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
