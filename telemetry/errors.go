package telemetry

import (
	"sync"
	"time"

	"go.opentelemetry.io/otel"
)

// sayAgain is how long after one failure another one is told.
const sayAgain = time.Minute

// OnFailure has told be told when something could not be sent, at most once a minute: with a collector
// that isn't there it happens every few seconds. It is of the whole process.
func OnFailure(told func(error)) {
	var mu sync.Mutex
	var said time.Time
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(said) > sayAgain {
			said = now
			told(err)
		}
	}))
}
