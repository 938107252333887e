package bundle

import (
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/lifepod/lifepod/internal/assert"
)

// A shim whose container containerd has deleted is ended at once; not one that
// containerd or CRI still has, nor another that the periodic look may end (B-RST-1).
func TestDeletedShimIsEnded(t *testing.T) {
	p := shortPaths(t)
	serveContainerd(t, p, []string{"known"}, []string{"made"})
	s := newLostShims(&daemon{paths: p, log: slog.New(slog.DiscardHandler)})
	assert.Must(t, os.Mkdir(p.shimSockets(), 0o700))
	var shims []*exec.Cmd
	for _, id := range []string{"lost", "other", "known", "made", "asked"} {
		shims = append(shims, startShim(t, p.Shim(), "-namespace", "k8s.io", "-id", id, "-address", p.Socket()))
	}
	t.Cleanup(func() {
		for _, c := range shims {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	s.endDeleted(t.Context(), []string{"lost", "known", "made", "asked", "gone"})
	assert.Deep(t, "shims", []string{"asked", "known", "made", "other"}, slices.Sorted(maps.Values(p.shims())))
}

// containerdEvents tells of deletions, and ends each stream after the first.
type containerdEvents struct {
	eventsapi.UnimplementedEventsServer
	deleted chan string
}

func (e containerdEvents) Subscribe(in *eventsapi.SubscribeRequest, out eventsapi.Events_SubscribeServer) error {
	if want := []string{`namespace==k8s.io,topic=="/containers/delete"`}; !slices.Equal(in.Filters, want) {
		panic("asked for " + strings.Join(in.Filters, " or "))
	}
	event := protowire.AppendTag(nil, 1, protowire.BytesType)
	event = protowire.AppendString(event, <-e.deleted)
	return out.Send(&types.Envelope{Event: &anypb.Any{TypeUrl: "containerd.events.ContainerDelete", Value: event}})
}

// What containerd tells arrives, also after its events have ended once.
func TestDeletionsAreHeard(t *testing.T) {
	p := shortPaths(t)
	events := containerdEvents{deleted: make(chan string, 2)}
	events.deleted <- "a"
	events.deleted <- "b"
	serveContainerd(t, p, nil, nil, func(s *grpc.Server) { eventsapi.RegisterEventsServer(s, events) })
	d := followDeletions(t.Context(), p, slog.New(slog.DiscardHandler))
	var got []string
	for len(got) < 2 {
		got = append(got, <-d.settled...)
	}
	assert.Deep(t, "deleted", []string{"a", "b"}, got)
}

// Shims have their time to end by themselves, however busy the supervisor is, and several are looked for together.
func TestDeletionsSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deletions{settled: make(chan []string)}
		heard := make(chan string)
		go d.settle(t.Context(), heard)
		start := time.Now()
		type batch struct {
			at  time.Duration
			ids []string
		}
		take := func() batch {
			ids := <-d.settled
			return batch{time.Since(start), ids}
		}
		go func() {
			heard <- "a"
			time.Sleep(time.Second)
			heard <- "b"
			time.Sleep(time.Second / 2)
			heard <- "c"
			time.Sleep(5 * time.Second)
			heard <- "d"
		}()
		var got []batch
		got = append(got, take())
		time.Sleep(7 * time.Second) // it is at something else
		got = append(got, take())
		want := []batch{{3 * time.Second, []string{"a", "b"}}, {10 * time.Second, []string{"c", "d"}}}
		assert.Deep(t, "batches", want, got, cmp.AllowUnexported(batch{}))
	})
}
