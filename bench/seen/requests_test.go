package seen

import (
	"strings"
	"testing"
)

// Writes count, whatever was answered; reads, and writes of other things, do not.
func TestCountRequests(t *testing.T) {
	const metrics = `# TYPE apiserver_request_total counter
apiserver_request_total{code="200",resource="pods",subresource="status",verb="PATCH"} 7
apiserver_request_total{code="409",resource="pods",subresource="status",verb="PATCH"} 1
apiserver_request_total{code="201",resource="pods",subresource="",verb="POST"} 5
apiserver_request_total{code="200",resource="pods",subresource="status",verb="GET"} 3
apiserver_request_total{code="201",resource="events",subresource="",verb="POST"} 20
apiserver_request_total{code="200",resource="events",subresource="",verb="PATCH"} 2
apiserver_request_total{code="200",resource="leases",subresource="",verb="PUT"} 11
`
	got, err := countRequests(strings.NewReader(metrics))
	if want := (Requests{Statuses: 8, Events: 22, Leases: 11}); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}
