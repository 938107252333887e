package telemetry

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// sayAgain is how long after one failure another one is reported.
const sayAgain = time.Minute

// OnFailure calls report when something could not be sent, at most once a minute: without the collector
// that would be every few seconds. It is for the whole process.
func OnFailure(report func(error)) {
	var mu sync.Mutex
	var said time.Time
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(said) > sayAgain {
			said = now
			report(err)
		}
	}))
}
