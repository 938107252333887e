package live

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/podlog"
)

var pod = &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: "u1"}}

func read(t *testing.T, l *Logs, container string, number int, o podlog.LineOptions) string {
	t.Helper()
	log := l.Open(pod, container, number, func() {})
	if log == nil {
		return "none"
	}
	defer log.Close()
	var out strings.Builder
	log.All(podlog.NewLines(&out, o))
	return out.String()
}

// The newest two instances of each container have a log, with what is asked of it; a pod that is gone has none.
func TestInstances(t *testing.T) {
	var l Logs
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for number := range 3 {
		l.Write("u1", Written{"main", number, "stdout", "one\ntwo", at})
	}
	l.Write("u1", Written{"main", 2, "stderr", "three", at.Add(time.Second)})
	l.Write("u1", Written{"other", 0, "", "hello", at})
	l.Write("u1", Written{"main", 0, "stdout", "too late", at})
	all := podlog.LineOptions{Tail: -1}
	for _, tc := range []struct {
		container string
		number    int
		options   podlog.LineOptions
		want      string
	}{
		{"main", 0, all, "none"},
		{"main", 1, all, "one\ntwo\n"},
		{"main", 2, all, "one\ntwo\nthree\n"},
		{"main", 2, podlog.LineOptions{Tail: 1, Timestamps: true}, "2026-01-02T03:04:06.000000000Z three\n"},
		{"main", 2, podlog.LineOptions{Tail: -1, Since: at.Add(time.Second)}, "three\n"},
		{"main", 2, podlog.LineOptions{Tail: -1, Stream: "stdout"}, "one\ntwo\n"},
		{"other", 0, all, "hello\n"},
		{"silent", 0, all, ""},
	} {
		assert.Deep(t, fmt.Sprintf("%s %d %+v", tc.container, tc.number, tc.options), tc.want, read(t, &l, tc.container, tc.number, tc.options))
	}
	l.Unregister("u1")
	assert.Deep(t, "of a pod that is gone", "", read(t, &l, "main", 2, all))
}

// Who follows a log gets its lines as they are written, until its instance has ended.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Logs
		l.Write("u1", Written{"main", 0, "stdout", "before", time.Now()})
		log := l.Open(pod, "main", 0, func() { t.Error("something was dropped") })
		var out strings.Builder
		over, followed := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(followed)
			log.Follow(t.Context(), podlog.NewLines(&out, podlog.LineOptions{Tail: -1}), func(context.Context) <-chan struct{} { return over }, func() {})
		}()
		want := "before\n"
		for _, text := range []string{"", "one", "two"} {
			if text != "" {
				want += text + "\n"
				l.Write("u1", Written{"main", 0, "stdout", text, time.Now()})
			}
			synctest.Wait()
			assert.True(t, out.String() == want, "got %q, want %q", out.String(), want)
		}
		l.Write("u1", Written{"main", 0, "stdout", "end", time.Now()})
		close(over)
		<-followed
		assert.True(t, out.String() == want+"end\n", "got %q, want the end", out.String())
	})
}

// An instance's log does not grow without bound; who follows it and has missed lines is told.
func TestBound(t *testing.T) {
	var l Logs
	text := strings.Repeat("x", 1<<20)
	l.Write("u1", Written{"main", 0, "stdout", "first", time.Now()})
	dropped := 0
	follows := l.Open(pod, "main", 0, func() { dropped++ }).(*log)
	follows.give(podlog.NewLines(&strings.Builder{}, podlog.LineOptions{Tail: 0}))
	for range 100 {
		l.Write("u1", Written{"main", 0, "stdout", text, time.Now()})
	}
	follows.give(podlog.NewLines(&strings.Builder{}, podlog.LineOptions{Tail: 0}))
	if got := follows.bytes; got > MaxBytes || got < MaxBytes*9/10 || dropped != 1 {
		t.Errorf("%d bytes are left, want about %d; dropped %d times, want once", got, MaxBytes, dropped)
	}
}
