package publish

import (
	"bytes"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/assert"
)

// setup is a Writer that runs, and the API server that it writes to. In a bubble
// of synctest only.
type setup struct {
	*Writer
	t    testing.TB
	api  *fakeAPI
	log  *lockedBuffer
	stop func()
}

func start(t testing.TB, config WriterConfig) *setup {
	s := &setup{t: t, api: newFakeAPI(), log: &lockedBuffer{}}
	config.Client, config.Log = clientOver(t, s.api), slog.New(slog.NewTextHandler(s.log, nil))
	s.Writer = NewWriter(config)
	s.stop = assert.Runs(t, s.Run)
	return s
}

// bubble runs a test of a Writer in virtual time.
func bubble(t *testing.T, config WriterConfig, test func(t *testing.T, s *setup)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := start(t, config)
		defer s.stop()
		test(t, s)
		s.checkStarting()
	})
}

// named is a bubble with a name.
func named(t *testing.T, name string, config WriterConfig, test func(t *testing.T, s *setup)) {
	t.Run(name, func(t *testing.T) { bubble(t, config, test) })
}

// checkStarting: the pods that start are counted.
func (s *setup) checkStarting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	starting := 0
	for _, e := range s.entries {
		if starts(e.wanted) {
			starting++
		}
	}
	assert.Equal(s.t, starting, s.starting, "pods that start")
}

// pod puts a pod into the API, and shows it to the Writer.
func (s *setup) pod(name string, change ...func(*v1.Pod)) Ref {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)},
		Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "main"}}},
		Status:     v1.PodStatus{Phase: v1.PodPending, QOSClass: v1.PodQOSBurstable},
	}
	for _, f := range change {
		f(pod)
	}
	s.Live(s.api.put(pod))
	return Ref{Namespace: "default", Name: name, UID: pod.UID}
}

// set lets a status be written, as far as nothing holds it up.
func (s *setup) set(pod Ref, status v1.PodStatus, seen func(error)) {
	s.Set(pod, status, seen)
	synctest.Wait()
}

// change is what somebody else does to an object, seen by the watch.
func (s *setup) change(name string, f func(*v1.Pod)) {
	pod := s.api.get(name).DeepCopy()
	f(pod)
	s.Live(s.api.put(pod))
}

func deleted(pod *v1.Pod) {
	now := metav1.Now()
	pod.DeletionTimestamp = &now
}

// running is a status that differs from others by its message.
func running(message string) v1.PodStatus { return phased(v1.PodRunning, message) }

func phased(phase v1.PodPhase, message string) v1.PodStatus {
	return v1.PodStatus{Phase: phase, Message: message}
}

// after lets virtual time go by.
func after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// messages are what was written for a pod, in order.
func (s *setup) messages(name string) []string {
	var list []string
	for _, status := range s.api.history(name) {
		list = append(list, status.Message)
	}
	return list
}

// seen notes what a transition was told, for several in their order.
type seen struct {
	mu      sync.Mutex
	results []string
}

func (s *seen) by(name string) func(error) {
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.results = append(s.results, fmt.Sprintf("%s: %v", name, err))
	}
}

func (s *seen) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.results...)
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (b *lockedBuffer) lines() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Count(b.Bytes(), []byte("\n"))
}
