package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/lifecycle"
)

// observer sees by watches, as any client would, how far the pods and their JobSet are.
type observer struct {
	size    int
	running sync.WaitGroup // the watches

	mu        sync.Mutex
	in        map[string]state // by pod
	announced map[string]int   // how many pods have announced an attempt
	runs      map[string]int   // how many run in an attempt
	attempts  map[string]*attemptTimes
	writes    writes
	says      map[string]int // statuses by what they say, see kindOf
	stir      chan struct{}  // closed at the next change
}

// state is what counts of a pod.
type state struct {
	attempt string
	runs    bool
	node    string
}

// attemptTimes is when an attempt came how far.
type attemptTimes struct {
	first    time.Time // one pod has told it
	previous time.Time // the JobSet says that the one before is outdated
	allIn    time.Time // all pods have announced it
	current  time.Time // the JobSet says that it may begin
	all      time.Time // all pods run in it
}

// writes are counted as the watches show them.
type writes struct{ statuses, events, jobSets int }

func (w writes) minus(o writes) writes {
	return writes{w.statuses - o.statuses, w.events - o.events, w.jobSets - o.jobSets}
}

// observe begins to watch, until ctx ends.
func observe(ctx context.Context, config *rest.Config, j jobSet, size int) (*observer, error) {
	o := &observer{
		size: size, in: map[string]state{}, announced: map[string]int{}, runs: map[string]int{}, attempts: map[string]*attemptTimes{},
		says: map[string]int{}, stir: make(chan struct{}),
	}
	client, err := newClient(config)
	if err != nil {
		return nil, err
	}
	any, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	jobSets := any.Resource(schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"})
	o.follow(ctx, lifecycle.JobSetLabel+"="+j.name, client.CoreV1().Pods(j.namespace).Watch)
	o.follow(ctx, "", client.CoreV1().Events(j.namespace).Watch)
	o.follow(ctx, "", jobSets.Namespace(j.namespace).Watch)
	return o, nil
}

// follow watches until ctx ends. A watch that the API server ends, as it does with one that can't follow,
// resumes where it was.
func (o *observer) follow(ctx context.Context, selector string, open func(context.Context, metav1.ListOptions) (watch.Interface, error)) {
	o.running.Go(func() {
		options := metav1.ListOptions{LabelSelector: selector}
		for ctx.Err() == nil {
			w, err := open(ctx, options)
			if err != nil {
				_ = testbed.Sleep(ctx, 100*time.Millisecond) // the loop sees that ctx has ended
				continue
			}
			for e := range w.ResultChan() {
				if object, is := e.Object.(metav1.Object); is {
					options.ResourceVersion = object.GetResourceVersion()
					o.shows(e)
				}
			}
			w.Stop()
		}
	})
}

// shows files what a watch shows.
func (o *observer) shows(e watch.Event) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch object := e.Object.(type) {
	case *v1.Pod:
		if e.Type == watch.Modified {
			o.writes.statuses++
			o.says[kindOf(object)]++
		}
		if e.Type == watch.Deleted {
			o.leaves(object.Name)
		} else {
			o.pod(object)
		}
	case *v1.Event:
		o.writes.events++
	case *unstructured.Unstructured:
		o.writes.jobSets++
		o.jobSet(object)
	}
	close(o.stir)
	o.stir = make(chan struct{})
}

func (o *observer) pod(pod *v1.Pod) {
	before, now := o.in[pod.Name], state{attempt: pod.Annotations[lifecycle.AttemptAnnotation], node: pod.Spec.NodeName}
	if s := pod.Status.ContainerStatuses; now.attempt != "" && len(s) > 0 && s[0].State.Running != nil {
		now.runs = true
	}
	o.in[pod.Name] = now
	if now.attempt == "" {
		return
	}
	r := o.of(now.attempt)
	if before.attempt != now.attempt {
		note(&r.first)
		o.announced[before.attempt]--
		if o.announced[now.attempt]++; o.announced[now.attempt] == o.size {
			note(&r.allIn)
		}
	}
	if before.runs {
		o.runs[before.attempt]--
	}
	if now.runs {
		if o.runs[now.attempt]++; o.runs[now.attempt] == o.size {
			note(&r.all)
		}
	}
}

// leaves forgets a pod.
func (o *observer) leaves(pod string) {
	before := o.in[pod]
	delete(o.in, pod)
	o.announced[before.attempt]--
	if before.runs {
		o.runs[before.attempt]--
	}
}

// nodes are the names of the nodes, by pod.
func (o *observer) nodes() map[string]string {
	o.mu.Lock()
	defer o.mu.Unlock()
	nodes := map[string]string{}
	for pod, in := range o.in {
		nodes[pod] = in.node
	}
	return nodes
}

func (o *observer) jobSet(object *unstructured.Unstructured) {
	if current, has, err := unstructured.NestedInt64(object.Object, "status", "currentInPlaceRestartAttempt"); has && err == nil {
		note(&o.of(fmt.Sprint(current)).current)
	}
	if previous, has, err := unstructured.NestedInt64(object.Object, "status", "previousInPlaceRestartAttempt"); has && err == nil {
		note(&o.of(fmt.Sprint(previous + 1)).previous)
	}
}

func (o *observer) of(attempt string) *attemptTimes {
	r := o.attempts[attempt]
	if r == nil {
		r = &attemptTimes{}
		o.attempts[attempt] = r
	}
	return r
}

func note(t *time.Time) {
	if t.IsZero() {
		*t = time.Now()
	}
}

// count is what was written until now.
func (o *observer) count() writes {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writes
}

// What may be waited for in an attempt.
func mayBegin(r attemptTimes) bool { return !r.current.IsZero() }
func allRun(r attemptTimes) bool   { return !r.all.IsZero() }

// await waits until an attempt has come so far.
func (o *observer) await(ctx context.Context, attempt int, far func(attemptTimes) bool) (r attemptTimes, err error) {
	in, run := 0, 0
	err = o.until(ctx, func() bool {
		r, in, run = *o.of(fmt.Sprint(attempt)), o.announced[fmt.Sprint(attempt)], o.runs[fmt.Sprint(attempt)]
		return far(r)
	})
	if err != nil {
		err = fmt.Errorf("wait for attempt %d: %w: %d of %d pods have announced it, %d run in it", attempt, err, in, o.size, run)
	}
	return r, err
}

// kinds are how many statuses until now said what.
func (o *observer) kinds() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return maps.Clone(o.says)
}

// kindOf is what a status says of the first container.
func kindOf(pod *v1.Pod) string {
	if s := pod.Status.ContainerStatuses; len(s) > 0 {
		switch state := s[0].State; {
		case state.Terminated != nil:
			return "ended"
		case state.Waiting != nil:
			return state.Waiting.Reason
		case state.Running != nil && s[0].Ready:
			return "ready"
		case state.Running != nil:
			return "running"
		}
	}
	return "nothing"
}

// names returns the names of the pods when all of them exist.
func (o *observer) names(ctx context.Context) (all []string, err error) {
	err = o.until(ctx, func() bool {
		all = slices.Sorted(maps.Keys(o.in))
		return len(all) == o.size
	})
	if err != nil {
		err = fmt.Errorf("wait for %d pods: %w: there are %d", o.size, err, len(all))
	}
	return all, err
}

// until waits until something is so. It is looked at again after each change, with mu held.
func (o *observer) until(ctx context.Context, is func() bool) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Minute)
	defer cancel()
	for {
		o.mu.Lock()
		done, stir := is(), o.stir
		o.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-stir:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
