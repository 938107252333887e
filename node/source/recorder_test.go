package source

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// recorder is a Feed and a MirrorSink that writes down what it is told.
type recorder struct {
	mu     sync.Mutex
	lines  []string
	pods   map[types.UID]*v1.Pod
	called chan struct{} // has one after any number of calls
}

func newRecorder() *recorder {
	return &recorder{pods: map[types.UID]*v1.Pod{}, called: make(chan struct{}, 1)}
}

func (r *recorder) say(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
	select {
	case r.called <- struct{}{}:
	default:
	}
}

func (r *recorder) Wanted(origin roster.Source, pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if got := roster.Source(pod.Annotations[SourceAnnotation]); got != origin || pod.Annotations[SeenAnnotation] == "" {
		r.say("pod %s is not marked: %v", pod.Name, pod.Annotations)
	}
	if pod.ManagedFields != nil {
		r.say("pod %s is not trimmed", pod.Name)
	}
	deleted := ""
	if pod.DeletionTimestamp != nil {
		deleted = " deleted"
	}
	r.pods[pod.UID] = pod
	r.say("wanted %s %s%s", origin, pod.Name, deleted)
}

func (r *recorder) Unwanted(origin roster.Source, uid types.UID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := "nobody"
	if pod := r.pods[uid]; pod != nil {
		name = pod.Name
	}
	delete(r.pods, uid)
	r.say("unwanted %s %s", origin, name)
}

func (r *recorder) Heard(origin roster.Source) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("heard %s", origin)
}

func (r *recorder) MirrorSeen(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("mirror %s", pod.Name)
}

func (r *recorder) MirrorGone(pod *v1.Pod) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("mirror %s gone", pod.Name)
}

func (r *recorder) changed(namespace string, names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("changed %s %v", namespace, names)
}

// take gives the lines since the last call.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := r.lines
	r.lines = nil
	return lines
}

// running are the names of the pods that are wanted, and their UIDs.
func (r *recorder) running() map[string]types.UID {
	r.mu.Lock()
	defer r.mu.Unlock()
	names := map[string]types.UID{}
	for uid, pod := range r.pods {
		names[pod.Name] = uid
	}
	return names
}

// until waits for calls until done holds; what it waits for never comes if it is not there in a minute.
func (r *recorder) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	late := time.After(time.Minute)
	for !done() {
		select {
		case <-r.called:
		case <-late:
			t.Fatalf("%s: never; heard %q, running %v", what, r.take(), r.running())
		}
	}
}

// textLog is a logger whose lines a test can read.
type textLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *textLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *textLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *textLog) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// event takes a Kubernetes Event.
func (r *recorder) event(pod *v1.Pod, _ time.Time, e lifecycle.RecordEvent) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.say("event %s %s %s", pod.Name, e.Reason, strings.ReplaceAll(e.Message, string(pod.UID), "UID"))
}
