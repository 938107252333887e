package publish

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestAnnotate: annotations go with the status that is set after them, in one patch and at
// once, are not sent again, and are put right when somebody else changes them (B-GRP-3).
func TestAnnotate(t *testing.T) {
	const key = "example.com/attempt"
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web", func(p *v1.Pod) { p.Annotations = map[string]string{"kept": "yes"} })
		s.Annotate(web, map[string]string{key: "1"})
		after(time.Minute)
		n := s.api.count("PATCH")
		assert.True(t, n == 0, "%d patches for annotations alone", n)
		s.Set(web, phased(v1.PodPending, ""), nil) // only progress: without annotations it would wait
		synctest.Wait()
		got := s.api.get("web").Annotations
		assert.True(t, got[key] == "1" && got["kept"] == "yes", "B-GRP-3: the object has %v", got)
		s.set(web, running("up"), nil)
		if n := s.api.count("PATCH"); n != 2 {
			t.Errorf("%d patches for two statuses, one of which had the annotation:\n%s", n, strings.Join(s.api.patches, "\n"))
		}
		last := s.api.patches[1]
		assert.True(t, !strings.Contains(last, key), "told again: %s", last)
		s.change("web", func(p *v1.Pod) { delete(p.Annotations, key) })
		after(time.Minute)
		assert.Equal(t, "1", s.api.get("web").Annotations[key], "after somebody has removed it")
	})
}

// TestAnnotateWithTransition: the annotation is in the patch of the status that everybody
// must see.
func TestAnnotateWithTransition(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		var result seen
		web := s.pod("web")
		s.Annotate(web, map[string]string{"example.com/attempt": "2"})
		s.set(web, running("restarts"), result.by("restarts"))
		n := s.api.count("PATCH")
		assert.True(t, n == 1 && strings.Contains(s.api.patches[0], `"example.com/attempt":"2"`), "%d patches: %v", n, s.api.patches)
		got := result.all()
		assert.True(t, len(got) == 1 && got[0] == "restarts: <nil>", "told %q", got)
	})
}

// TestAnnotateLater: a status that was set before is not written with annotations that were not yet the
// node's, although they are when it is sent (B-GRP-3).
func TestAnnotateLater(t *testing.T) {
	const key = "example.com/attempt"
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		var result seen
		web := s.pod("web")
		s.api.fail(fault{times: 1, delay: time.Second})
		s.set(web, running("0"), nil)
		s.Set(web, running("to be seen"), result.by("to be seen"))
		s.Annotate(web, map[string]string{key: "1"})
		s.Set(web, running("1"), nil)
		after(time.Second)
		for i, want := range []bool{false, false, true} {
			has := strings.Contains(s.api.patches[i], key)
			assert.True(t, has == want, "B-GRP-3: patch %d: annotation %t, want %t: %s", i, has, want, s.api.patches[i])
		}
	})
}

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
		s.set(web, running("away"), nil)
		short, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began = time.Now()
		s.AwaitSent(short)
		assert.Equal(t, 5*time.Second, time.Since(began), "with an API server that is away it took")
	})
}
