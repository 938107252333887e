package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/e2e/relay"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/telemetry/otlptest"
)

// TestTraces: a collector has the start and the end of a pod, step by step; the runtime is
// told which call is part of which trace, and exec through the node's API goes on working.
func TestTraces(t *testing.T) {
	t.Parallel()
	collector, runtime := otlptest.New(t), listenIn(t, startRuntime(t))
	node := newNode(t, member.Config{Kubelet: map[string]any{
		"containerRuntimeEndpoint": runtime.Endpoint(),
		"tracing":                  map[string]any{"endpoint": collector.Endpoint, "samplingRatePerMillion": 1_000_000},
	}})
	c := newCluster(t, node)
	uid := string(c.create(sleeper).UID)
	c.awaitReady("sleeper")
	assert.Deep(t, "exec printed", "heard\n", c.kubectl("exec", "sleeper", "--", "echo", "heard"))
	c.delete("sleeper")
	start := c.awaitSpan(collector, "syncPod", uid)
	for _, step := range []struct{ name, call string }{
		{"CreateSandbox", "RunPodSandbox"}, {"CreateContainer", "CreateContainer"}, {"StartContainer", "StartContainer"},
	} {
		effect := c.awaitSpan(collector, step.name, uid)
		assert.True(t, effect.Parent == start.ID && effect.Trace == start.Trace, "A-TRC-5: %s is not below the pod's start: %+v", step.name, effect)
		found := false
		for _, call := range collector.Named("runtime.v1.RuntimeService/" + step.call) {
			found = found || call.Parent == effect.ID && runtime.heard(step.call, "00-"+call.Trace+"-"+call.ID+"-01")
		}
		assert.True(t, found, "A-TRC-2: the runtime was not told that %s is part of the trace", step.call)
	}
	t.Logf("the start of the pod:\n%s", tree(collector.Spans(), start, start, ""))
	assert.True(t, start.Resource["host.name"] == node.Name && start.Resource["service.name"] == "kubelet",
		"A-TRC-1: the spans are of %v", start.Resource)
	for _, name := range []string{"syncTerminatingPod", "StopContainer", "syncTerminatedPod"} {
		c.awaitSpan(collector, name, uid) // A-TRC-6
	}
	for _, name := range []string{"HTTP GET", "/exec/{namespace}/{pod}/{container}", "Images/GarbageCollect", "Containers/GarbageCollect"} {
		c.awaitSpan(collector, name, "") // A-TRC-3, A-TRC-4, A-TRC-7
	}
}

// tree is a span with those below it, and when each began after the first.
func tree(all []otlptest.Span, of, first otlptest.Span, indent string) string {
	text := fmt.Sprintf("%-42s +%.3fs %.3fs %s\n", indent+of.Name, of.Began.Sub(first.Began).Seconds(), of.Took.Seconds(), of.Attributes["k8s.container.name"])
	slices.SortStableFunc(all, func(a, b otlptest.Span) int { return a.Began.Compare(b.Began) })
	for _, span := range all {
		if span.Parent == of.ID {
			text += tree(all, span, first, indent+"  ")
		}
	}
	return text
}

// awaitSpan waits for the first span of a name, and of a pod unless its UID is empty. Spans
// are sent every 5 s.
func (c *cluster) awaitSpan(from *otlptest.Collector, name, uid string) otlptest.Span {
	c.t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		spans := from.Named(name)
		if i := slices.IndexFunc(spans, func(s otlptest.Span) bool { return s.Attributes["k8s.pod.uid"] == uid }); i >= 0 {
			return spans[i]
		}
	}
	c.t.Fatalf("the collector has no span %s of %q", name, uid)
	return otlptest.Span{}
}

// listener sees the calls between an agent and its runtime and keeps which came with which
// traceparent.
type listener struct {
	*relay.Relay

	mu    sync.Mutex
	calls map[string]bool // method and traceparent
}

// listenIn listens before a runtime, until the end of the test.
func listenIn(t *testing.T, endpoint string) *listener {
	t.Helper()
	p := &listener{calls: map[string]bool{}}
	p.Relay = assert.Get(relay.Listen(endpoint, p.hear)).Must(t)
	assert.AtEnd(t, p.Close)
	return p
}

func (p *listener) hear(ctx context.Context, call relay.Call) error {
	p.mu.Lock()
	p.calls[call.Method+" "+strings.Join(metadata.ValueFromIncomingContext(ctx, "traceparent"), " ")] = true
	p.mu.Unlock()
	return call.Carry(ctx)
}

func (p *listener) heard(method, traceparent string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls[method+" "+traceparent]
}
