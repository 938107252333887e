package netpolicy

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"

	events "k8s.io/api/events/v1"
	networking "k8s.io/api/networking/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

	"github.com/lifepod/lifepod/internal/assert"
)

func policy(name string) *networking.NetworkPolicy {
	return &networking.NetworkPolicy{ObjectMeta: meta.ObjectMeta{Namespace: "shop", Name: name, UID: "1234"}}
}

// Each new object gets an Event, and the log one line.
func TestWarns(t *testing.T) {
	client := fake.NewClientset(policy("before"))
	recorded := assert.Get(client.EventsV1().Events("shop").Watch(t.Context(), meta.ListOptions{})).Must(t)
	var log bytes.Buffer
	ctx, end := context.WithCancel(t.Context())
	c := Config{Client: client, Informers: informers.NewSharedInformerFactory(client, 0), Node: "n1", Log: slog.New(slog.NewTextHandler(&log, nil))}
	ended := make(chan error)
	informer := c.Informers.Networking().V1().NetworkPolicies().Informer()
	go func() { ended <- Run(ctx, c) }()
	cache.WaitForCacheSync(ctx.Done(), informer.HasSynced)
	for _, name := range []string{"one", "two"} {
		assert.Must(t, assert.ErrorOf(client.NetworkingV1().NetworkPolicies("shop").Create(ctx, policy(name), meta.CreateOptions{})))
		got := (<-recorded.ResultChan()).Object.(*events.Event)
		assert.Deep(t,
			"event", []string{name, "1234", "Warning", "NotEnforced", Note},
			[]string{got.Regarding.Name, string(got.Regarding.UID), got.Type, got.Reason, got.Note})

	}
	end()
	assert.NoError(t, <-ended)
	n := strings.Count(log.String(), "NetworkPolicy has no effect")
	assert.True(t, n == 1, "%d warnings in the log, want 1:\n%s", n, log.String())
}
