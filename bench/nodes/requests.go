package main

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// requests are the writes that the API server has answered, by what was written. Only nodes write statuses of pods and their
// Leases; of events, those of the control plane about Nodes are among them.
type requests struct{ statuses, events, leases float64 }

func (r requests) minus(o requests) requests {
	return requests{r.statuses - o.statuses, r.events - o.events, r.leases - o.leases}
}

// requests asks the API server how many it has answered.
func (b *bench) requests(ctx context.Context) (requests, error) {
	text, err := b.client.CoreV1().RESTClient().Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return requests{}, fmt.Errorf("metrics of the API server: %w", err)
	}
	return countRequests(bytes.NewReader(text))
}

// countRequests reads them from what the API server tells Prometheus.
func countRequests(metrics io.Reader) (r requests, err error) {
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
			r.statuses += count
		case labels["resource"] == "events":
			r.events += count
		case labels["resource"] == "leases":
			r.leases += count
		}
	}
	return r, nil
}
