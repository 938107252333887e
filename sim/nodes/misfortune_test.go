package nodes

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/manifest"
	"github.com/lifepod/lifepod/sim/live"
	"github.com/lifepod/lifepod/sim/nodes/nodefaults"
)

// clusterOf is an API server that knows Nodes, and takes Leases and events without keeping them.
type clusterOf struct {
	*testing.T
	mu    sync.Mutex
	nodes map[string]*v1.Node
}

// ServeHTTP answers what simulated nodes ask.
func (c *clusterOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/")
	name, _, _ = strings.Cut(name, "/")
	switch {
	case r.URL.Query().Get("sendInitialEvents") != "": // those who ask for it then list
		answer(w, http.StatusBadRequest, &metav1.Status{Status: metav1.StatusFailure, Reason: metav1.StatusReasonBadRequest, Code: http.StatusBadRequest})
	case r.URL.Query().Get("watch") != "":
		w.Header().Set("Content-Type", runtime.ContentTypeJSON)
		w.WriteHeader(http.StatusOK)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodPost && resource == "nodes", r.Method == http.MethodPatch && resource == "nodes":
		c.write(w, r, name)
	case r.Method == http.MethodPost, r.Method == http.MethodPut, r.Method == http.MethodPatch: // Leases, events
		body, _ := io.ReadAll(r.Body) // what can't be read is answered as nothing
		object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
		if err != nil {
			object = &metav1.Status{Status: metav1.StatusSuccess}
		}
		answer(w, http.StatusOK, object)
	case resource == "nodes" && name != "":
		if node := c.node(name); node != nil {
			answer(w, http.StatusOK, node)
			return
		}
		missing(w, resource, name)
	case resource == "nodes":
		answer(w, http.StatusOK, c.list())
	case resource == "pods":
		answer(w, http.StatusOK, &v1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}})
	default:
		missing(w, resource, name)
	}
}

func answer(w http.ResponseWriter, code int, object any) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(object) // a client that has gone needs no answer
}

func missing(w http.ResponseWriter, resource, name string) {
	status := apierrors.NewNotFound(schema.GroupResource{Resource: resource}, name).Status()
	answer(w, http.StatusNotFound, &status)
}

// write takes a Node, or a patch of one.
func (c *clusterOf) write(w http.ResponseWriter, r *http.Request, name string) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has gone
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	node := &v1.Node{}
	if r.Method == http.MethodPost {
		_, _, err = scheme.Codecs.UniversalDeserializer().Decode(body, nil, node)
	} else {
		var before, after []byte
		if before, err = json.Marshal(c.nodes[name]); err == nil {
			after, err = strategicpatch.StrategicMergePatch(before, body, node)
		}
		if err == nil {
			err = json.Unmarshal(after, node)
		}
	}
	assert.True(c, err == nil, "%s %s: %v", r.Method, r.URL.Path, err)
	if r.Method == http.MethodPost && c.nodes[node.Name] != nil {
		status := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "nodes"}, node.Name).Status()
		answer(w, http.StatusConflict, &status)
		return
	}
	node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
	c.nodes[node.Name] = node
	answer(w, http.StatusOK, node)
}

// node is a Node as it is now; nil: there is none.
func (c *clusterOf) node(name string) *v1.Node {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nodes[name].DeepCopy()
}

func (c *clusterOf) list() *v1.NodeList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := &v1.NodeList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "NodeList"}, ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
	for _, node := range c.nodes {
		list.Items = append(list.Items, *node)
	}
	return list
}

// answers says whether the API of the nodes knows one of them.
func (c *clusterOf) answers(name string) bool {
	c.Helper()
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true, //nolint:gosec // a test's own server
	}}
	port := c.node(name).Status.DaemonEndpoints.KubeletEndpoint.Port
	response := assert.Get(client.Get(fmt.Sprintf("https://127.0.0.1:%d%s", port, UsagePath(name)))).Must(c)
	_ = response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// await waits until something is so.
func (c *clusterOf) await(what string, so func() bool) {
	c.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !so(); time.Sleep(10 * time.Millisecond) {
		assert.Require(c, !time.Now().After(deadline), "%s: not after five minutes", what)
	}
}

const misfortunes = `
apiVersion: lifepod.dev/v1alpha1
kind: NodeScenario
nodes:
- names: bad-0
  events:
  - {at: 100ms, partition: {for: 1s}}
  - {at: 300ms, reboot: {for: 1s}}
- names: bad-1
  events:
  - {at: 100ms, loss: {}}
  - {at: 200ms, reboot: {for: 10ms}}
- names: bad-2
  events:
  - {at: 100ms, partition: {for: 1h}}
`

// TestMisfortunes: what a scenario says happens to each node in its order, the next thing when the one before is over, and
// nothing after a loss. Meanwhile nobody finds the node in the API of all nodes. All end at once when they are told to.
func TestMisfortunes(t *testing.T) {
	c := &clusterOf{T: t, nodes: map[string]*v1.Node{}}
	server := httptest.NewServer(c)
	defer server.Close()
	defer server.CloseClientConnections()
	names := Names("bad-", 4)
	says := assert.Get(nodefaults.Read(manifest.Source{Name: "misfortunes", Data: []byte(misfortunes)}, names)).Must(t)
	var mu sync.Mutex
	happened := map[string][]string{}
	options := Options{
		API: &rest.Config{Host: server.URL}, Count: len(names), Prefix: "bad-", Serve: Loopback(), Pods: &live.Pods{}, Log: slog.New(slog.DiscardHandler),
		Faults: Faults{Scenario: says, Tell: func(node, what string) {
			mu.Lock()
			defer mu.Unlock()
			happened[node] = append(happened[node], what)
		}},
	}
	was := func(node string, want ...string) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return slices.Equal(happened[node], want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ready, over := make(chan struct{}), make(chan error, 1)
	go func() { over <- Run(ctx, options, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-over:
		t.Fatal(err)
	}
	boot := c.node("bad-0").Status.NodeInfo.BootID

	const cutOff, reaches, reboots, starts = "is cut off from the API server for 1s", "reaches the API server again", "is rebooted, and gone for 1s", "starts again"
	c.await("the first is cut off", was("bad-0", cutOff))
	c.await("nobody finds it", func() bool { return !c.answers("bad-0") })
	c.await("it is rebooted after that", was("bad-0", cutOff, reaches, reboots))
	c.await("nobody finds it", func() bool { return !c.answers("bad-0") })
	c.await("it starts again", was("bad-0", cutOff, reaches, reboots, starts))
	c.await("it is found", func() bool { return c.answers("bad-0") })
	c.await("it has another boot ID", func() bool { return c.node("bad-0").Status.NodeInfo.BootID != boot })

	for node, what := range map[string]string{"bad-1": "is gone for good", "bad-2": "is cut off from the API server for 1h0m0s"} {
		assert.True(t, was(node, what)() && !c.answers(node) && c.node(node) != nil,
			"%s: told %q, want %q; found %v, its Node %v", node, happened[node], what, c.answers(node), c.node(node) != nil)
	}
	assert.True(t, was("bad-3")() && c.answers("bad-3"),
		"the node to which nothing happens: told %q, found %v", happened["bad-3"], c.answers("bad-3"))
	cancel()
	select {
	case err := <-over:
		assert.NoError(t, err)
	case <-time.After(time.Minute):
		t.Error("the nodes do not end")
	}
}
