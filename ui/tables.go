package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/plain"
)

// Tables is a cluster's API server, asked with the rights of a kubeconfig.
type Tables struct {
	Server string // its URL
	client rest.Interface
}

// timeout is for an API server to answer.
const timeout = 10 * time.Second

// OpenTables reads a kubeconfig; the API server need not answer yet.
func OpenTables(kubeconfig string) (*Tables, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("kubeconfig %s: %w", kubeconfig, err)
	}
	return of(config)
}

func of(config *rest.Config) (*Tables, error) {
	config.Timeout, config.WarningHandler = timeout, rest.NoWarnings{}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("reach the cluster: %w", err)
	}
	return &Tables{Server: config.Host, client: client.CoreV1().RESTClient()}, nil
}

// paths are where the API server has what the page shows.
var paths = map[string]string{
	"allpods": "/api/v1/pods", "deployments": "/apis/apps/v1/deployments", "jobs": "/apis/batch/v1/jobs",
	"services": "/api/v1/services", "nodes": "/api/v1/nodes", "events": "/api/v1/events",
}

// maxRows is how many objects of a kind are shown.
const maxRows = "500"

// Table is a table as kubectl get prints it.
type Table struct {
	Columns   []string   `json:"columns"`
	Rows      [][]string `json:"rows"`
	More      bool       `json:"more,omitempty"`      // there are others, which are not shown
	Forbidden bool       `json:"forbidden,omitempty"` // the kubeconfig may not see them
	Error     string     `json:"error,omitempty"`
}

// Table asks for one of the tables; what the server refuses is shown as such.
func (c *Tables) Table(ctx context.Context, kind string) (*Table, error) {
	path, known := paths[kind]
	if !known {
		return nil, fmt.Errorf("there is no table %s", plain.Line(kind))
	}
	content, err := c.client.Get().AbsPath(path).Param("limit", maxRows).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return &Table{Error: plain.Line(err.Error()), Forbidden: apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)}, nil
	}
	var from metav1.Table
	if err := json.Unmarshal(content, &from); err != nil {
		return nil, fmt.Errorf("read the API server's answer: %w", err)
	}
	return tableOf(&from, kind != "nodes"), nil
}

// tableOf has the columns that kubectl shows without -o wide, behind the namespace.
func tableOf(from *metav1.Table, namespaced bool) *Table {
	t := &Table{Rows: [][]string{}, More: from.Continue != ""}
	if namespaced {
		t.Columns = append(t.Columns, "Namespace")
	}
	for _, c := range from.ColumnDefinitions {
		if c.Priority == 0 {
			t.Columns = append(t.Columns, plain.Line(c.Name))
		}
	}
	for _, r := range from.Rows {
		var row []string
		if namespaced {
			var object metav1.PartialObjectMetadata
			_ = json.Unmarshal(r.Object.Raw, &object) // an object always has metadata
			row = append(row, plain.Line(object.Namespace))
		}
		for i, cell := range r.Cells {
			if i < len(from.ColumnDefinitions) && from.ColumnDefinitions[i].Priority == 0 {
				row = append(row, plain.Line(fmt.Sprint(cell)))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
