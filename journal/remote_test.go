package journal_test

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
	"github.com/lifepod/lifepod/lifecycle"
)

// TestRemote: what a node has in its journal is read through the API server as it is on the
// node; a pod that it doesn't have is none, as in a folder.
func TestRemote(t *testing.T) {
	in := journal.Folder{Dir: t.TempDir()}
	w := assert.Get(in.Writers().Create(journal.Pod{UID: "u", Namespace: "default", Name: "web", Created: time.Unix(1, 0).UTC()})).Must(t)
	defer func() { _ = w.Close() }() // only written to below
	assert.Must(t, assert.ErrorOf(w.Step(time.Unix(2, 0), lifecycle.Accepted{}, nil)))
	assert.Must(t, w.Now(journal.Now{At: time.Unix(3, 0).UTC(), Phase: "Pending"}))
	node := served(t, in)
	pods, err := node.Pods()
	want, wantErr := in.Pods()
	diff := cmp.Diff(want, pods)
	assert.True(t, diff == "" && err == nil && wantErr == nil, "pods (-want +got):\n%s%v %v", diff, err, wantErr)
	got, err := node.Read("u")
	record, wantErr := in.Read("u")
	diff = cmp.Diff(record, got)
	assert.True(t, diff == "" && err == nil && wantErr == nil, "record (-want +got):\n%s%v %v", diff, err, wantErr)
	for _, uid := range []string{"other", "..", "../u/x"} {
		assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(node.Read(uid)), "pod ", uid)
	}
}

// served is a node whose journal an API server passes on.
func served(t *testing.T, in journal.Source) remote.Node {
	t.Helper()
	const prefix = "/api/v1/nodes/n1/proxy"
	mux := http.NewServeMux()
	mux.Handle(prefix+"/", http.StripPrefix(prefix, remote.Handler(in)))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	address := assert.Get(url.Parse(server.URL)).Must(t)
	client := assert.Get(rest.RESTClientFor(&rest.Config{
		Host: address.Host, APIPath: "/api",
		ContentConfig: rest.ContentConfig{GroupVersion: &schema.GroupVersion{Version: "v1"}, NegotiatedSerializer: scheme.Codecs.WithoutConversion()},
	})).Must(t)
	return remote.Node{Context: t.Context(), Client: client, Name: "n1"}
}

func podOn(node, name string, conditions ...v1.PodCondition) v1.Pod {
	return v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Image: "app:1"}}},
		Status:     v1.PodStatus{Phase: v1.PodPending, Conditions: conditions},
	}
}

// TestCluster: of each pod there is what its node knows; where the node knows nothing, doesn't
// answer or isn't chosen yet, what the object says; and nothing for those who may not ask.
func TestCluster(t *testing.T) {
	c := newCluster(t, journal.Folder{Dir: t.TempDir()})
	pods, err := c.Pods()
	assert.Require(t, err == nil && len(pods) == 5, "%d pods, %v", len(pods), err)
	type answer struct {
		entries int
		waits   string
		because string
		denied  bool
	}
	got := map[string]answer{}
	for _, p := range pods {
		r, err := c.Read(p.UID)
		if err != nil {
			got[p.Name] = answer{denied: apierrors.IsForbidden(err)}
			continue
		}
		one := answer{entries: len(r.Entries)}
		if r.Now != nil && len(r.Now.Waits) > 0 {
			one.waits, one.because = string(r.Now.Waits[0].For), r.Now.Waits[0].Because
		}
		got[p.Name] = one
	}
	want := map[string]answer{
		"told": {entries: 1}, "untold": {}, "hidden": {denied: true},
		"lost":  {waits: "node", because: "journal of node broken: an error on the server (\"no route to it\") has prevented the request from succeeding (get nodes broken)"},
		"waits": {waits: "scheduling", because: "0/1 nodes are available"},
	}
	assert.Deep(t, "what is told", want, got, cmp.AllowUnexported(answer{}))
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(c.Read("other")), "of a pod that there isn't")
}

// newCluster has a node with a journal, one that doesn't answer and one that refuses.
func newCluster(t *testing.T, in journal.Folder) *remote.Cluster {
	t.Helper()
	w := assert.Get(in.Writers().Create(journal.Pod{UID: "uid-told", Namespace: "default", Name: "told"})).Must(t)
	t.Cleanup(func() { _ = w.Close() }) // only written to below
	assert.Must(t, assert.ErrorOf(w.Step(time.Unix(2, 0), lifecycle.Accepted{}, nil)))
	list := v1.PodList{Items: []v1.Pod{
		podOn("n1", "told"), podOn("n1", "untold"), podOn("broken", "lost"), podOn("refuses", "hidden"),
		podOn("", "waits", v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: "0/1 nodes are available"}),
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/default/pods", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list) // the client says what it lacks
	})
	mux.Handle("/api/v1/nodes/n1/proxy/", http.StripPrefix("/api/v1/nodes/n1/proxy", remote.Handler(in)))
	fails := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no route to it", code) }
	}
	mux.HandleFunc("/api/v1/nodes/broken/proxy/", fails(http.StatusBadGateway))
	mux.HandleFunc("/api/v1/nodes/refuses/proxy/", fails(http.StatusForbidden))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	client := assert.Get(kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})).Must(t)
	return &remote.Cluster{Context: t.Context(), Client: client, Namespace: "default"}
}

// TestSeveral: the pods of several journals are those of one; one that isn't there has none.
func TestSeveral(t *testing.T) {
	first, second := journal.Folder{Dir: t.TempDir()}, journal.Folder{Dir: t.TempDir()}
	for uid, in := range map[string]journal.Folder{"a": first, "b": second} {
		w := assert.Get(in.Writers().Create(journal.Pod{UID: uid, Namespace: "default", Name: "pod-" + uid})).Must(t)
		assert.Must(t, assert.ErrorOf(w.Step(time.Unix(2, 0), lifecycle.Accepted{}, nil)))
		assert.Must(t, w.Close())
	}
	all := journal.Several{first, journal.Folder{Dir: filepath.Join(t.TempDir(), "none")}, second}
	pods, err := all.Pods()
	assert.True(t, err == nil && len(pods) == 2 && pods[0].Name == "pod-a" && pods[1].Name == "pod-b", "pods %+v, %v", pods, err)
	for _, uid := range []string{"a", "b"} {
		r, err := all.Read(uid)
		assert.True(t, err == nil && r.Pod.UID == uid && len(r.Entries) == 1, "%s: %+v, %v", uid, r, err)
	}
	assert.ErrorIs(t, fs.ErrNotExist, assert.ErrorOf(all.Read("c")), "a pod that none has")
}
