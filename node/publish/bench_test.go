package publish

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/internal/assert"
)

// arrivals is a transport that tells of each request before it is answered.
type arrivals struct {
	http.RoundTripper
	sent chan struct{}
}

func (a arrivals) RoundTrip(r *http.Request) (*http.Response, error) {
	a.sent <- struct{}{}
	return a.RoundTripper.RoundTrip(r)
}

func benchWriter(b *testing.B, pods int) (w *Writer, sent chan struct{}, refs []Ref) {
	api := newFakeAPI()
	sent = make(chan struct{}, 10000)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://api", Transport: arrivals{api, sent}, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	assert.Must(b, err)
	w = NewWriter(WriterConfig{Client: client, Log: slog.New(slog.DiscardHandler)})
	for i := range pods {
		name := fmt.Sprint("web-", i)
		w.Live(api.put(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name)}, Status: benchStatus("")}))
		refs = append(refs, Ref{Namespace: "default", Name: name, UID: types.UID(name)})
	}
	ctx, cancel := context.WithCancel(b.Context())
	var run sync.WaitGroup
	run.Go(func() { w.Run(ctx) })
	b.Cleanup(func() { cancel(); run.Wait() })
	return w, sent, refs
}

func benchStatus(message string) v1.PodStatus {
	status := v1.PodStatus{
		Phase: v1.PodRunning, Message: message, PodIP: "10.0.0.1", PodIPs: []v1.PodIP{{IP: "10.0.0.1"}},
		ContainerStatuses: []v1.ContainerStatus{{Name: "main"}, {Name: "side"}},
	}
	for _, t := range []v1.PodConditionType{v1.PodReadyToStartContainers, v1.PodInitialized, v1.PodReady, v1.ContainersReady, v1.PodScheduled} {
		status.Conditions = append(status.Conditions, cond(t, v1.ConditionTrue, 1))
	}
	return status
}

// BenchmarkLatency is the time from Set until the PATCH leaves the client.
func BenchmarkLatency(b *testing.B) {
	w, sent, refs := benchWriter(b, 1)
	round := 0
	for b.Loop() {
		round++
		seen := make(chan error, 1)
		w.Set(refs[0], benchStatus(fmt.Sprint(round)), func(err error) { seen <- err })
		<-sent
		b.StopTimer()
		assert.Must(b, <-seen)
		b.StartTimer()
	}
}

// BenchmarkBurst is the time for 100 pods with five statuses each at once, until
// the last of each is written; most of it is the fake API server's.
func BenchmarkBurst(b *testing.B) {
	w, sent, refs := benchWriter(b, 100)
	round, writes := 0, 0
	for b.Loop() {
		round++
		seen := make(chan error, len(refs))
		for i := range 5 {
			for _, ref := range refs {
				var tell func(error)
				if i == 4 {
					tell = func(err error) { seen <- err }
				}
				w.Set(ref, benchStatus(fmt.Sprint(round, i)), tell)
			}
		}
		for range refs {
			assert.Must(b, <-seen)
		}
		for len(sent) > 0 {
			<-sent
			writes++
		}
	}
	b.ReportMetric(float64(writes)/float64(b.N), "writes/op")
}
