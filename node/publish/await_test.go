package publish

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestAwaitSent: who waits goes on when the API server has every status, and no later than
// he wants; a pod that the API does not have is not waited for.
func TestAwaitSent(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		s.AwaitSent(t.Context()) // nothing was set
		web, db := s.pod("web"), s.pod("db")
		s.api.fail(fault{delay: 2 * time.Second, times: 1}, fault{delay: 3 * time.Second, times: 1})
		began := time.Now()
		s.Set(web, running("up"), nil)
		s.Set(db, running("up"), nil)
		s.Set(Ref{Namespace: "default", Name: "nowhere", UID: "uid-nowhere"}, running("up"), nil)
		s.AwaitSent(t.Context())
		if took := time.Since(began); took < 2*time.Second || len(s.messages("web")) != 1 || len(s.messages("db")) != 1 {
			t.Errorf("after %s the API server has %q and %q", took, s.messages("web"), s.messages("db"))
		}

		s.api.fail(fault{times: -1, err: errRefusedConnection})
		s.Set(web, running("away"), nil)
		synctest.Wait()
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began = time.Now()
		s.AwaitSent(short)
		assert.Equal(t, 5*time.Second, time.Since(began), "with an API server that is away it took")
	})
}
