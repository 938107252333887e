package register

import (
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clienttesting "k8s.io/client-go/testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// The API server is away: lease and status follow within one and a half of the
// longest wait, also if the outage was shorter than the time between renewals.
func TestOutage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		length time.Duration
		within time.Duration
	}{
		{"no answer", errNoAnswer, time.Hour, 1500 * time.Millisecond},
		{"refused", errForbidden("nodes"), time.Hour, 4500 * time.Millisecond},
		{"short", errNoAnswer, 3 * time.Second, 1500 * time.Millisecond},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				watches := make(chan *watcher, 100)
				w := newWorld(t, nil)
				watchNodes(w, watches)
				w.start()
				time.Sleep(time.Minute)
				w.setAway(tt.err)
				(<-watches).Stop()
				w.runtime.set(func(f *fakeRuntime) { f.network = false })
				w.node.RuntimeChanged()
				time.Sleep(tt.length)
				w.takeWrites()
				w.setAway(nil)
				time.Sleep(tt.within)
				synctest.Wait()
				got := w.takeWrites()
				assert.True(t, got["patch nodes/status"] != 0 && got["update leases"] != 0, "writes after the outage = %v, want status and lease", got)
				assert.Equal(t, noNetwork, w.ready(), "Ready")
			})
		})
	}
}

// A node that was deleted from the cluster is not made again (as upstream), but
// kept if somebody else makes it.
func TestDeleted(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.start()
		nodes := schema.GroupVersionResource{Version: "v1", Resource: "nodes"}
		assert.Must(t, w.client.Tracker().Delete(nodes, "", "node-1"))
		w.takeWrites()
		time.Sleep(10 * time.Minute)
		got := w.takeWrites()
		assert.True(t, got["create nodes"]+got["patch nodes/status"] <= 0, "writes without a node = %v", got)
		assert.Must(t, w.client.Tracker().Create(nodes, existingNode(), ""))
		synctest.Wait()
		assert.Equal(t, isReady, w.ready(), "Ready of the new node")
	})
}

func TestUnregistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(c *Config) { c.Unregistered = true })
		w.start()
		time.Sleep(time.Minute)
		got := w.takeWrites()
		assert.True(t, got["create nodes"] <= 0, "writes = %v", got)
	})
}

// An API server that drops a field it doesn't know is not told it again and
// again.
func TestOlderAPIServer(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		watchNodes(w, make(chan *watcher, 1))
		tracker := clienttesting.ObjectReaction(w.client.Tracker())
		w.client.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.writes = append(w.writes, "patch")
			_, object, err := tracker(action)
			if err == nil {
				object.(*v1.Node).Status.DeclaredFeatures = nil
			}
			return true, object, err
		})
		w.start()
		w.takeWrites()
		time.Sleep(2 * time.Minute)
		got := w.takeWrites()["patch"]
		assert.True(t, got == 0, "the same status was written %d times more", got)
	}, existingNode())
}
