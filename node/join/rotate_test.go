package join

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestOutageDoesNotFloodTheLog: client-go's errors come every half minute while the
// API server is away.
func TestOutageDoesNotFloodTheLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder
		log := quiet(slog.New(slog.NewTextHandler(&out, nil))).WithName("certificates")
		for range 120 { // an hour
			log.WithValues("a", "b").Error(errors.New("refused"), "Failed while requesting")
			time.Sleep(30 * time.Second)
		}
		log.Error(errors.New("refused"), "Certificate request was not signed")
		got := strings.Count(out.String(), "Failed while requesting")
		assert.True(t, got == 6, "said %d times in an hour, want 6:\n%s", got, out.String())
		assert.True(t, strings.Contains(out.String(), "not signed"), "something else is dropped:\n%s", out.String())
	})
}
