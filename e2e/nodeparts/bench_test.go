package nodeparts

import (
	"fmt"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/must"
	"github.com/lifepod/lifepod/node/publish"
)

// BenchmarkBurst has 100 pods change their status five times at once: the time
// until the API server has the last of each, everything of it on this machine.
func BenchmarkBurst(b *testing.B) {
	const count = 100
	n := joinAs(b, publish.WriterConfig{})
	var refs []publish.Ref
	for i := range count {
		refs = append(refs, n.pod(fmt.Sprint(i)))
	}
	known := 0
	n.until("all", func(*v1.Pod) bool { known++; return known == count })
	round := 0
	for b.Loop() {
		round++
		seen := make(chan error, count)
		for i := range 5 {
			for _, ref := range refs {
				status := full()
				status.InitContainerStatuses, status.Message = nil, fmt.Sprint(round, i)
				if i < 4 {
					n.Set(ref, status, nil)
				} else {
					n.Set(ref, status, func(err error) { seen <- err })
				}
			}
		}
		for range count {
			must.Succeed(b, <-seen)
		}
		for len(n.shown) > 0 {
			<-n.shown
		}
	}
	b.ReportMetric(float64(n.writes.Load())/float64(b.N), "writes/op")
}
