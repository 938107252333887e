package telemetry

import (
	"context"
	"errors"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/lifepod/lifepod/timeline"
)

// lastWord is how long the end of a connection may take.
const lastWord = 2 * time.Second

// SendSpans sends the spans of charts, all of them, to the collector that OpenTelemetry's environment variables
// name, such as OTEL_EXPORTER_OTLP_ENDPOINT; without one to that of this machine.
func SendSpans(ctx context.Context, charts []*timeline.Chart) error {
	to, err := Collector(ctx)
	if err != nil {
		return err
	}
	list, err := SpansOf(ctx, charts, sdk.WithSampler(sdk.AlwaysSample()))
	if err == nil {
		err = to.Send(ctx, list)
	}
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), lastWord)
	defer done()
	return errors.Join(err, to.Close(ctx))
}
