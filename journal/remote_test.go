package journal_test

import (
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
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
