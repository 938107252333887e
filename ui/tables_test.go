package ui

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTable: kubectl's columns behind the namespace, harmless; what the server forbids is said to be forbidden.
func TestTable(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path != "/apis/apps/v1/deployments" {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":403,"reason":"Forbidden","message":"nodes is forbidden: User \"eve\""}`)
			return
		}
		_, _ = io.WriteString(w, `{"kind":"Table","apiVersion":"meta.k8s.io/v1","metadata":{"continue":"x"},
			"columnDefinitions":[{"name":"Name","priority":0},{"name":"Wide","priority":1},{"name":"Up","priority":0}],
			"rows":[{"cells":["web\u001b[2J","no",3],"object":{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"namespace":"shop","name":"web"}}}]}`)
	}))
	defer server.Close()
	c, err := clusterOf(&rest.Config{Host: server.URL})
	assert.Must(t, err)
	got, err := c.Table(t.Context(), "deployments")
	assert.Must(t, err)
	want := &Table{Columns: []string{"Namespace", "Name", "Up"}, Rows: [][]string{{"shop", "web^[[2J", "3"}}, About: []string{"Deployment shop/web"}, More: true}
	assert.Deep(t, "", want, got)
	got, err = c.Table(t.Context(), "nodes")
	assert.True(t, err == nil && got.Forbidden && got.Error != "", "nodes: %+v, %v", got, err)
	_, err = c.Table(t.Context(), "secrets")
	assert.True(t, err != nil, "there is a table of secrets")
}
