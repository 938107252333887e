package seen

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"k8s.io/client-go/kubernetes"
)

// Requests are the writes that the API server has answered, by what was written. Only nodes write statuses of pods and their
// Leases. The events also include those that the control plane writes about Nodes.
type Requests struct{ Statuses, Events, Leases float64 }

// Minus is what was answered since o.
func (r Requests) Minus(o Requests) Requests {
	return Requests{r.Statuses - o.Statuses, r.Events - o.Events, r.Leases - o.Leases}
}

// Answered asks the API server how many it has answered.
func Answered(ctx context.Context, client kubernetes.Interface) (Requests, error) {
	text, err := client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return Requests{}, fmt.Errorf("metrics of the API server: %w", err)
	}
	return countRequests(bytes.NewReader(text))
}

// countRequests reads them from what the API server tells Prometheus.
func countRequests(metrics io.Reader) (r Requests, err error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(metrics)
	if err != nil {
		return r, fmt.Errorf("metrics of the API server: %w", err)
	}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		labels := map[string]string{}
		for _, l := range m.GetLabel() {
			labels[l.GetName()] = l.GetValue()
		}
		switch labels["verb"] {
		case "POST", "PUT", "PATCH", "APPLY":
		default:
			continue
		}
		count := m.GetCounter().GetValue()
		switch {
		case labels["resource"] == "pods" && labels["subresource"] == "status":
			r.Statuses += count
		case labels["resource"] == "events":
			r.Events += count
		case labels["resource"] == "leases":
			r.Leases += count
		}
	}
	return r, nil
}
