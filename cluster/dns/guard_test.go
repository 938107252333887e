package dns

import (
	"log/slog"
	"maps"
	"net"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	discovery "k8s.io/api/discovery/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/lifepod/lifepod/internal/assert"
)

// The servers of other nodes are endpoints as long as their nodes are ready.
func TestGuard(t *testing.T) {
	ctx := t.Context()
	node := func(name string, ready core.ConditionStatus) *core.Node {
		return &core.Node{
			ObjectMeta: meta.ObjectMeta{Name: name},
			Status:     core.NodeStatus{Conditions: []core.NodeCondition{{Type: core.NodeReady, Status: ready}}},
		}
	}
	server := func(node string, ready bool) *discovery.EndpointSlice {
		return &discovery.EndpointSlice{
			ObjectMeta: meta.ObjectMeta{Namespace: namespace, Name: serviceName + "-" + node, Labels: map[string]string{
				discovery.LabelServiceName: serviceName, discovery.LabelManagedBy: manager,
			}},
			Endpoints: []discovery.Endpoint{{Addresses: []string{"192.0.2.9"}, NodeName: &node, Conditions: discovery.EndpointConditions{Ready: &ready}}},
		}
	}
	somebodys := server("gone", true)
	somebodys.Name, somebodys.Labels[discovery.LabelManagedBy] = "somebodys", "somebody"
	client := fake.NewClientset(
		node("own", core.ConditionFalse), server("own", true), // it answers, whatever its node does
		node("gone", core.ConditionUnknown), server("gone", true),
		node("back", core.ConditionTrue), server("back", false),
		server("without-a-node", true),
		somebodys,
	)
	c := Config{Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Node: "own", Address: net.IPv4(192, 0, 2, 2), Log: slog.New(slog.DiscardHandler)}
	known := assert.Get(c.objects()).Must(t)
	c.Informers.Start(ctx.Done())
	assert.Require(t, known.wait(ctx), "the informers never knew")
	changes := assert.Get(client.DiscoveryV1().EndpointSlices(namespace).Watch(ctx, meta.ListOptions{})).Must(t)
	defer changes.Stop()
	go func() { _ = c.guard(ctx, known) }() // ends with the test
	// await returns when a slice says so. A change may come twice: the fake API server
	// takes one that is made of an old version.
	seen := map[string]bool{}
	await := func(want map[string]bool) {
		t.Helper()
		for late := time.After(time.Minute); !maps.Equal(seen, want); {
			select {
			case e := <-changes.ResultChan():
				if e.Type == watch.Modified { // others were there before
					s := e.Object.(*discovery.EndpointSlice)
					seen[s.Name] = *s.Endpoints[0].Conditions.Ready
				}
			case <-late:
				t.Fatalf("changed: %v, want %v", seen, want)
			}
		}
	}
	await(map[string]bool{"kube-dns-gone": false, "kube-dns-back": true})
	assert.Must(t, assert.ErrorOf(client.CoreV1().Nodes().Update(ctx, node("back", core.ConditionFalse), meta.UpdateOptions{})))
	await(map[string]bool{"kube-dns-gone": false, "kube-dns-back": false})
}
