package agent

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/lifepod/lifepod/internal/assert"
)

// awaitEvents waits for an event about a pod that is as wanted.
func (c *cluster) awaitEvents(pod string, wanted func(*v1.Event) bool) *v1.Event {
	c.t.Helper()
	ctx := assert.Context(c.t, patience)
	events := cache.NewListWatchFromClient(client.CoreV1().RESTClient(), "events", c.namespace,
		fields.OneTermEqualSelector("involvedObject.name", pod))
	seen := ""
	last, err := watchtools.UntilWithSync(ctx, events, &v1.Event{}, nil, func(e watch.Event) (bool, error) {
		event := e.Object.(*v1.Event)
		seen += event.Type + " " + event.Reason + ": " + event.Message + "\n"
		return wanted(event), nil
	})
	assert.Require(c.t, err == nil, "no such event about pod %s: %v; those seen:\n%s", pod, err, seen)
	return last.Object.(*v1.Event)
}
