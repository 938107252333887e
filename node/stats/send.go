package stats

import (
	"context"

	"github.com/lifepod/lifepod/telemetry"
)

// Send begins to send what /metrics has, if OpenTelemetry's environment variables ask for that; end sends the
// last figures. They are the kubelet's, as its spans are (A-TRC-1).
func (m *Metrics) Send(ctx context.Context) (end func(), err error) {
	return telemetry.SendMetrics(ctx, m.all, "kubelet", m.NodeName)
}
