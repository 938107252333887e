package remote_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/journal/remote"
	"github.com/lifepod/lifepod/lifecycle"
)

func podOn(node, name string, conditions ...v1.PodCondition) v1.Pod {
	return v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{NodeName: node, Containers: []v1.Container{{Name: "main", Image: "app:1"}}},
		Status:     v1.PodStatus{Phase: v1.PodPending, Conditions: conditions},
	}
}

// TestCluster: of each pod there is what its node knows; where the node knows nothing, can't be
// asked or isn't chosen yet, what the object says; and what could not be asked is an error once.
func TestCluster(t *testing.T) {
	in := journal.Folder{Dir: t.TempDir()}
	w, err := in.Create(journal.Pod{UID: "uid-told", Namespace: "default", Name: "told"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }() // only written to below
	if _, err := w.Step(time.Unix(2, 0), lifecycle.Accepted{}, nil); err != nil {
		t.Fatal(err)
	}
	list := v1.PodList{Items: []v1.Pod{
		podOn("n1", "told"), podOn("n1", "untold"), podOn("broken", "a"), podOn("broken", "b"),
		podOn("", "waits", v1.PodCondition{Type: v1.PodScheduled, Status: v1.ConditionFalse, Message: "0/1 nodes are available"}),
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/default/pods", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list) // the client says what it lacks
	})
	mux.Handle("/api/v1/nodes/n1/proxy/", http.StripPrefix("/api/v1/nodes/n1/proxy", remote.Handler(in)))
	mux.HandleFunc("/api/v1/nodes/broken/proxy/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no route to it", http.StatusForbidden)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	records, err := remote.Cluster{Client: client}.Pods(t.Context(), "default", "")
	if err == nil || strings.Count(err.Error(), "journal of node broken") != 1 {
		t.Errorf("error %v", err)
	}
	if len(records) != 5 {
		t.Fatalf("%d records", len(records))
	}
	for i, r := range records {
		if r.Pod.Name != list.Items[i].Name {
			t.Errorf("pod %d is %s", i, r.Pod.Name)
		}
		if entries := len(r.Entries); entries != map[string]int{"told": 1}[r.Pod.Name] {
			t.Errorf("%s has %d entries", r.Pod.Name, entries)
		}
	}
	waits := records[4].Now.Waits
	if len(waits) != 1 || waits[0].For != journal.WaitScheduling || waits[0].Because != "0/1 nodes are available" {
		t.Errorf("waits %+v", waits)
	}
}
