package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/informers"
	policyinformers "k8s.io/client-go/informers/policy/v1"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/lifepod/lifepod/internal/assert"
)

// slowBudgets delays the disruption controller's constructor between its handler of
// pods and the lister that the handler uses.
type slowBudgets struct {
	policyinformers.PodDisruptionBudgetInformer
	delay time.Duration
}

func (s slowBudgets) Informer() cache.SharedIndexInformer {
	time.Sleep(s.delay)
	return s.PodDisruptionBudgetInformer.Informer()
}

// newDisruption is upstream's controller, made slowly.
func newDisruption(ctx context.Context, client *fake.Clientset, f informers.SharedInformerFactory, delay time.Duration) {
	mapper := meta.NewDefaultRESTMapper(nil)
	disruption.NewDisruptionController(ctx, f.Core().V1().Pods(), slowBudgets{f.Policy().V1().PodDisruptionBudgets(), delay},
		f.Core().V1().ReplicationControllers(), f.Apps().V1().ReplicaSets(), f.Apps().V1().Deployments(), f.Apps().V1().StatefulSets(),
		client, mapper, nil, client.Discovery())
}

// countPanics counts those that parts survive.
func countPanics(t *testing.T) *atomic.Int32 {
	crash, handlers := utilruntime.ReallyCrash, utilruntime.PanicHandlers
	t.Cleanup(func() { utilruntime.ReallyCrash, utilruntime.PanicHandlers = crash, handlers })
	var count atomic.Int32
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(_ context.Context, reason any) {
		count.Add(1)
		t.Logf("panic: %v", reason)
	})
	return &count
}

// Whatever the order in which parts are made, and however long that takes: no handler
// is called before its part is made, and each hears of all objects, also in a part
// that has failed and is made again.
func TestInformersWaitForConstructors(t *testing.T) {
	panics := countPanics(t)
	client := fake.NewClientset(&v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}})
	r := &run{layout: &layout{Config: Config{Log: slog.New(slog.DiscardHandler)}}, client: client}
	ctx, cancel := context.WithCancel(t.Context())
	g := newGroup(ctx, r.Log)
	heard := make(chan string, 100)
	// hears is a part like those of upstream: its handler uses what is set after it.
	hears := func(name string, failures int) part {
		return part{name: name, madeFirst: true, run: func(_ *run, ctx context.Context, shared informers.SharedInformerFactory) error {
			var made *string
			_, err := shared.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
				AddFunc: func(any) { heard <- *made },
			})
			if err != nil {
				return err
			}
			if failures--; failures >= 0 {
				made = new(name + " that failed")
				return errors.New("not yet")
			}
			time.Sleep(rand.N(300 * time.Millisecond))
			made = &name
			shared.Start(ctx.Done())
			<-ctx.Done()
			return nil
		}}
	}
	wanted := []part{{name: "at once", run: func(_ *run, ctx context.Context, shared informers.SharedInformerFactory) error {
		shared.Core().V1().Pods().Informer()
		shared.Start(ctx.Done())
		<-ctx.Done()
		return nil
	}}, {name: "disruption", madeFirst: true, run: func(_ *run, ctx context.Context, shared informers.SharedInformerFactory) error {
		newDisruption(ctx, client, shared, 300*time.Millisecond)
		shared.Start(ctx.Done())
		<-ctx.Done()
		return nil
	}}}
	want := map[string]bool{}
	for i := range 5 {
		name := fmt.Sprintf("part %d", i)
		wanted, want[name] = append(wanted, hears(name, i%2)), true
	}
	r.runOn(g, r.informers(), wanted)
	patience := time.After(30 * time.Second)
	for len(want) > 0 {
		select {
		case name := <-heard:
			delete(want, name)
		case <-patience:
			t.Fatalf("have not heard of the pod: %v", want)
		}
	}
	cancel()
	assert.NoError(t, g.wait())
	n := panics.Load()
	assert.True(t, n <= 0, "%d handlers were called before their parts were made", n)
}

// Parts that work on running informers don't wait where nothing is made first, nor
// for a part that has ended.
func TestInformersStart(t *testing.T) {
	for first := range 2 {
		shared := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
		gated := newGatedInformers(t.Context(), shared, first)
		if first == 1 {
			stop := make(chan struct{})
			close(stop)
			gated.Start(stop) // returns, because nobody waits any more
			(&makingInformers{gatedInformers: gated}).isMade()
		}
		pods := gated.Core().V1().Pods().Informer()
		gated.Start(t.Context().Done())
		assert.True(t, cache.WaitForCacheSync(t.Context().Done(), pods.HasSynced), "the informer does not run")
	}
}
