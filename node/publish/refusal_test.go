package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestClassify(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	read := &net.OpError{Op: "read", Err: context.DeadlineExceeded}
	for _, c := range []struct {
		err  error
		want failure
	}{
		{errRefusedConnection, unreachable},
		{io.ErrUnexpectedEOF, unreachable},
		{dial, unreachable},
		{read, unanswered},
		{context.DeadlineExceeded, unanswered},
		{apierrors.NewUnauthorized("expired"), unreachable},
		{apierrors.NewServiceUnavailable("starting"), unreachable},
		{apierrors.NewTooManyRequests("later", 1), transient},
		{apierrors.NewInternalError(errors.New("no leader")), transient},
		{apierrors.NewTimeoutError("", 0), transient},
		{apierrors.NewConflict(podResource, "web", nil), conflicting},
		{errOutdated, conflicting},
		{apierrors.NewForbidden(podResource, "web", nil), refused},
		{apierrors.NewBadRequest(""), refused},
		{invalid(), refused},
	} {
		assert.Equal(t, c.want, classify(fmt.Errorf("patch: %w", c.err)), "%v", c.err)
	}
}

func invalid() error {
	return apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "bad", field.ErrorList{field.Forbidden(field.NewPath("status", "podIPs"), "no")})
}

// TestInvalid: a status that the API server refuses is tried more and more
// rarely, reported once with the field, and does not concern other pods; a better
// one is soon there.
func TestInvalid(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		bad, good := s.pod("bad"), s.pod("good")
		s.api.fail(fault{pod: "bad", verb: "PATCH", times: -1, err: invalid()})
		s.Set(bad, running("1"), nil)
		for i := range 60 {
			s.Set(good, running(fmt.Sprint(i)), nil)
			after(time.Minute)
		}
		n := s.api.count("PATCH bad")
		assert.True(t, n >= 50 && n <= 80, "%d tries in an hour", n)
		n = s.api.count("PATCH good")
		assert.True(t, n == 60, "the other pod was written %d times", n)
		assert.True(t, s.log.lines() == 1 && strings.Contains(s.log.String(), "status.podIPs"), "log:\n%s", s.log)
		s.api.fail()
		s.Set(bad, running("2"), nil)
		after(time.Second) // the last refusal may have been a moment ago
		assert.Deep(t, "written", []string{"2"}, s.messages("bad"))
	})
}

// TestForbidden: an API server that starts denies everything for a moment; that is
// soon over and no news. It is when it stays so.
func TestForbidden(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		denied := apierrors.NewForbidden(podResource, "web", errors.New("RBAC: not known yet"))
		s.api.fail(fault{verb: "PATCH", times: 3, err: denied})
		s.Set(web, running("1"), nil)
		after(time.Second)
		got, want := s.messages("web"), []string{"1"}
		assert.True(t, cmp.Equal(got, want) && s.log.lines() <= 0, "written %q, want %q; log:\n%s", got, want, s.log)
		s.api.fail(fault{times: -1, err: denied})
		s.Set(web, running("2"), nil)
		after(time.Hour)
		assert.True(t, s.log.lines() == 1, "log:\n%s", s.log)
	})
}

// TestTooManyRequests: what the API server asks for is waited (429).
func TestTooManyRequests(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		began := time.Now()
		web := s.pod("web")
		s.api.fail(fault{verb: "PATCH", times: 2, err: apierrors.NewTooManyRequests("later", 3)})
		s.Set(web, running("1"), nil)
		for s.api.get("web").Status.Message != "1" {
			after(100 * time.Millisecond)
		}
		took := time.Since(began)
		assert.True(t, took >= 6*time.Second && took <= 8*time.Second, "it took %s", took)
		assert.Equal(t, 3, s.api.count("PATCH"), "requests")
	})
}

// TestConflict: a conflict is looked into, and the status written on top of what
// the other has written (409).
func TestConflict(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		s.api.fail(fault{verb: "PATCH", times: 1, err: apierrors.NewConflict(podResource, "web", errors.New("changed"))})
		s.Set(web, running("1"), nil)
		after(time.Second)
		assert.Deep(t, "requests", []string{"PATCH web", "GET web", "PATCH web"}, s.api.requests)
	})
}

// TestStaleBase: the watch has not shown a change of somebody else's yet; the
// answer does, and the status is put right at once.
func TestStaleBase(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web", func(p *v1.Pod) { p.Status = running("0"); p.Status.Reason = "Ours" })
		unseen := s.api.get("web").DeepCopy()
		unseen.Status.Reason = "Theirs"
		s.api.put(unseen)
		status := running("1")
		status.Reason = "Ours"
		var result seen
		s.Set(web, status, result.by("1"))
		after(time.Second)
		got := s.api.get("web").Status
		assert.True(t, got.Message == "1" && got.Reason == "Ours", "the API has %v", got)
		if got, want := len(s.messages("web")), 2; got != want {
			t.Errorf("%d writes, want %d", got, want)
		}
		assert.Deep(t, "told", []string{"1: <nil>"}, result.all())
	})
}

// TestRepair: the node's part of a status is put right when somebody else has
// changed it (A-STAT-4), without a fight; what others may change is left to them.
func TestRepair(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		web := s.pod("web")
		s.set(web, running("ours"), nil)
		s.change("web", func(p *v1.Pod) {
			p.Labels = map[string]string{"a": "b"}
			p.Status.Conditions = append(p.Status.Conditions, v1.PodCondition{Type: "example.com/gate", Status: v1.ConditionTrue})
		})
		after(time.Minute)
		if n := s.api.count(""); n != 1 {
			t.Errorf("requests %q", s.api.requests)
		}
		for i := range 100 {
			s.change("web", func(p *v1.Pod) { p.Status.Message = fmt.Sprint("theirs ", i) })
			after(100 * time.Millisecond)
		}
		after(time.Second)
		assert.Equal(t, "ours", s.api.get("web").Status.Message, "the API")
		n := s.api.count("PATCH")
		assert.True(t, n >= 5 && n <= 13, "%d writes against 100 in ten seconds", n)
		got := s.api.get("web").Status.Conditions
		assert.True(t, len(got) == 1, "conditions %v", got)
		s.set(web, running("newer"), nil)
		assert.Equal(t, "newer", s.api.get("web").Status.Message, "the API")
	})
}

// TestOlderServer: what an API server does not know it drops; it is not told
// about it again and again.
func TestOlderServer(t *testing.T) {
	bubble(t, WriterConfig{}, func(t *testing.T, s *setup) {
		s.api.takes = func(status *v1.PodStatus) { status.ObservedGeneration = 0 }
		web := s.pod("web")
		for i := range 3 {
			status := running(fmt.Sprint(i))
			status.ObservedGeneration = 4
			s.Set(web, status, nil)
			after(time.Minute)
			for range 5 {
				s.change("web", func(p *v1.Pod) { p.Annotations = map[string]string{"now": time.Now().String()} })
				after(time.Minute)
			}
		}
		n := s.api.count("")
		assert.True(t, n <= 6, "requests %q", s.api.requests)
		assert.Equal(t, "2", s.api.get("web").Status.Message, "the API")
	})
}
