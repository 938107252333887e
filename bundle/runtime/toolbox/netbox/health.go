package netbox

import (
	"fmt"
	"sync"
	"time"

	"github.com/spf13/pflag"
)

// health is what a server says of itself: by the clock, or as it was told.
type health struct {
	readyAfter time.Duration
	healthyFor time.Duration
	start      time.Time

	mu sync.Mutex // guards told
	// told holds what POST /fail and /ok set, by aspect.
	told map[string]bool
}

// The aspects of a server's health, named as the endpoints are.
const (
	healthz = "healthz" // alive: for startup and liveness probes
	readyz  = "readyz"
	livez   = "livez"
)

func healthFlags(flags *pflag.FlagSet) *health {
	h := &health{start: time.Now(), told: map[string]bool{}}
	flags.DurationVar(&h.readyAfter, "ready-after", 0, "not ready, and for gRPC not serving, until then")
	flags.DurationVar(&h.healthyFor, "healthy-for", 0, "neither healthy nor ready after that (0: for ever)")
	return h
}

// tell overrides the clock for the aspects, all of them if none is named.
func (h *health) tell(aspect string, ok bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch aspect {
	case "":
		h.told[healthz], h.told[readyz], h.told[livez] = ok, ok, ok
	case healthz, readyz, livez:
		h.told[aspect] = ok
	default:
		return fmt.Errorf("what=%q: want healthz, readyz or livez", aspect)
	}
	return nil
}

// is says why the aspect isn't fine, or nil.
func (h *health) is(aspect string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	up := time.Since(h.start)
	told, isTold := h.told[aspect]
	switch {
	case isTold && told:
		return nil
	case isTold:
		return fmt.Errorf("%s was told to fail", aspect)
	case aspect == readyz && up < h.readyAfter:
		return fmt.Errorf("up for %v, ready after %v", up.Round(time.Millisecond), h.readyAfter)
	case h.healthyFor > 0 && up >= h.healthyFor:
		return fmt.Errorf("up for %v, healthy for %v", up.Round(time.Millisecond), h.healthyFor)
	}
	return nil
}
