package ui

import (
	"context"
	"encoding/json"
	"fmt"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/plain"
)

// tables are what the page shows: of which kind, and where the API server has it.
var tables = map[string]struct{ kind, path string }{
	"deployments": {"Deployment", "/apis/apps/v1/deployments"}, "statefulsets": {"StatefulSet", "/apis/apps/v1/statefulsets"},
	"daemonsets": {"DaemonSet", "/apis/apps/v1/daemonsets"}, "jobs": {"Job", "/apis/batch/v1/jobs"}, "services": {"Service", "/api/v1/services"},
	"claims": {"PersistentVolumeClaim", "/api/v1/persistentvolumeclaims"}, "nodes": {"Node", "/api/v1/nodes"}, "events": {"Event", "/api/v1/events"},
}

// maxRows is how many objects of a kind are shown.
const maxRows = "500"

// Table is a table as kubectl get prints it.
type Table struct {
	Columns   []string   `json:"columns"`
	Rows      [][]string `json:"rows"`
	About     []string   `json:"about,omitempty"`     // what each row is about, as "Deployment shop/web"
	More      bool       `json:"more,omitempty"`      // there are others, which are not shown
	Forbidden bool       `json:"forbidden,omitempty"` // the kubeconfig may not see them
	Error     string     `json:"error,omitempty"`
}

// Table asks for one of the tables; what the server refuses is shown as such.
func (c *Cluster) Table(ctx context.Context, name string) (*Table, error) {
	table, known := tables[name]
	if !known {
		return nil, fmt.Errorf("there is no table %s", plain.Line(name))
	}
	with := metav1.IncludeMetadata
	if name == "events" {
		with = metav1.IncludeObject // says what it is about
	}
	content, err := c.tables.Get().AbsPath(table.path).Param("limit", maxRows).Param("includeObject", string(with)).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(ctx)
	if err != nil {
		return &Table{Error: plain.Line(err.Error()), Forbidden: apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err)}, nil
	}
	var from metav1.Table
	if err := json.Unmarshal(content, &from); err != nil {
		return nil, fmt.Errorf("read the API server's answer: %w", err)
	}
	return tableOf(&from, table.kind), nil
}

// tableOf has the columns that kubectl shows without -o wide, behind the namespace.
func tableOf(from *metav1.Table, kind string) *Table {
	t := &Table{Rows: [][]string{}, More: from.Continue != ""}
	if kind != "Node" {
		t.Columns = append(t.Columns, "Namespace")
	}
	for _, c := range from.ColumnDefinitions {
		if c.Priority == 0 {
			t.Columns = append(t.Columns, plain.Line(c.Name))
		}
	}
	for _, r := range from.Rows {
		var row []string
		var object struct {
			metav1.ObjectMeta `json:"metadata"`
			InvolvedObject    v1.ObjectReference `json:"involvedObject"`
		}
		_ = json.Unmarshal(r.Object.Raw, &object) // an object always has metadata
		about := v1.ObjectReference{Kind: kind, Namespace: object.Namespace, Name: object.Name}
		if kind == "Event" {
			about = object.InvolvedObject
		}
		if kind != "Node" {
			row = append(row, plain.Line(object.Namespace))
		}
		for i, cell := range r.Cells {
			if i < len(from.ColumnDefinitions) && from.ColumnDefinitions[i].Priority == 0 {
				row = append(row, plain.Line(fmt.Sprint(cell)))
			}
		}
		if about.Namespace != "" {
			about.Name = about.Namespace + "/" + about.Name
		}
		t.Rows, t.About = append(t.Rows, row), append(t.About, plain.Line(about.Kind+" "+about.Name))
	}
	return t
}
