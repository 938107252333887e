package spans

import (
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"

	"github.com/lifepod/lifepod/timeline"
)

// lastWord is how long the end of a connection may take.
const lastWord = 2 * time.Second

// Send sends the spans of charts to the collector that OpenTelemetry's environment variables name, such as
// OTEL_EXPORTER_OTLP_ENDPOINT, by OTLP over gRPC; without one to localhost:4317.
func Send(ctx context.Context, charts []*timeline.Chart) error {
	client := otlptracegrpc.NewClient()
	if err := client.Start(ctx); err != nil {
		return fmt.Errorf("reach the collector of traces: %w", err)
	}
	err := client.UploadTraces(ctx, Of(charts))
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer done()
	if stopped := client.Stop(ctx); err == nil {
		err = stopped
	}
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	return nil
}
