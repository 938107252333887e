package pods

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/cri/crifake"
	"github.com/lifepod/lifepod/internal/prove/walks"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/roster"
)

// TestNodeWalks leads the pods of a node through two lives in which the same is asked of them, and in which their processes do
// the same: all is real, roster, workers, their machines and what carries their effects out, but for the runtime and the API
// server. In one of the lives nothing goes wrong. In the other calls of the runtime fail, hang, or work and seem to have failed,
// its events are lost, doubled or late, it goes away, the agent is killed at any time, the machine reboots, the API
// server is cut off, or tells what was. Once that stops, both come to the same; and then everything is deleted, and gone in time
// with nothing left.
func TestNodeWalks(t *testing.T) {
	seen := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		faultless := p.withoutFaults().led(t, map[string]int{})
		led := p.led(t, seen)
		for _, w := range []walked{faultless, led} {
			if w.err != nil {
				w.tell(rt, p)
				rt.Fatalf("%v", w.err)
			}
		}
		for i, got := range led.reached {
			if want := faultless.reached[i]; want != got && got != evicted {
				led.tell(rt, p)
				rt.Fatalf("after all that went wrong %s is %s, and without it is %s", p.Pods[i].name(i), got, want)
			}
		}
	})
	walks.Log(t, seen, sometimes)
}

// sometimes are the rare branches that a long run must have come by: what took its turn.
var sometimes = []string{
	"asked: force", "asked: file", "roster.Resume", "roster.Adopt", "roster.Refuse", "roster.FoundLater", "roster.Discard", "roster.Panicked", "roster.Recalled",
	"roster.Allocate", "lifecycle.UnprepareClaims", "lifecycle.DriverRegistered",
}

// A walk is the same each time.
func TestLedAgainAsItWas(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := drawPlan(rt)
		first, again := p.led(t, map[string]int{}), p.led(t, map[string]int{})
		if diff := cmp.Diff(first.order(), again.order()); diff != "" {
			rt.Fatalf("%+v\nturns (-first time +again):\n%s", p, diff)
		}
	})
}

// walked is what a life came to.
type walked struct {
	reached []string // of each pod
	taken   []taken
	err     error
}

// tell logs a life that failed.
func (w walked) tell(rt *rapid.T, p plan) {
	rt.Logf("%+v", p)
	for _, t := range w.taken {
		rt.Logf("%s %s", t, brief(t.what))
	}
}

func (w walked) order() (list []string) {
	for _, t := range w.taken {
		list = append(list, t.String())
	}
	return list
}

// led leads a life.
func (p plan) led(t *testing.T, seen map[string]int) (w walked) {
	dir, err := os.MkdirTemp(shm(), "lifepod-walk")
	if err != nil {
		return walked{err: err}
	}
	defer func() { _ = os.RemoveAll(dir) }()
	synctest.Test(t, func(*testing.T) {
		l := &life{plan: p, ledNode: newLedNode(dir, p.Seed, p.Devices, p.plays), seen: seen, uids: map[int]types.UID{}}
		w.err = l.lived()
		w.reached, w.taken = l.reached, l.queue.taken
		l.killed()
		l.note(walks.Lives, len(p.Pods))
		l.note(walks.Steps, len(l.queue.taken))
		for _, t := range l.queue.taken {
			l.note(fmt.Sprintf("%T", t.what), 1)
			if status, is := t.what.(sentStatus); is {
				l.note(walks.State+"told "+strings.TrimSpace(string(status.status.Phase)+" "+status.status.Reason), 1)
			}
		}
	})
	return w
}

// shm is a folder in memory, where there is one.
func shm() string {
	if _, err := os.Stat("/dev/shm"); err != nil {
		return ""
	}
	return "/dev/shm"
}

// life is a plan that is led.
type life struct {
	plan
	*ledNode
	reached  []string
	uids     map[int]types.UID // of pods that there have been
	versions int               // of static pods
	forgot   bool              // what agents remember was lost once
	seen     map[string]int
}

func (l *life) note(what string, n int) { l.seen[what] += n }

// event is something of the plan.
type event struct {
	at time.Duration
	do func() error
}

// lived leads the plan, then lets everything settle, and ends all pods.
func (l *life) lived() error {
	if err := l.starts(0); err != nil {
		return err
	}
	l.runtime.Fault(l.Faults...)
	for _, fault := range l.Faults {
		words := strings.Fields(fault)
		l.note(walks.Fault+words[0]+" "+words[1], 1)
	}
	l.drivers.faults = slices.Clone(l.Drivers)
	for _, fault := range l.Drivers {
		l.note(walks.Fault+fault.Verb+" "+fault.Call, 1)
	}
	var events []event
	for i, pod := range l.Pods {
		events = append(events, event{pod.Creation, func() error { return l.creates(i) }})
	}
	for _, a := range l.Asks {
		events = append(events, event{a.At, func() error { return l.asks(a) }})
	}
	for _, h := range l.Harms {
		events = append(events, event{h.At, func() error { return l.harms(h) }})
	}
	slices.SortStableFunc(events, func(a, b event) int { return int(a.at - b.at) })
	began := time.Now()
	for _, e := range events {
		l.lives(max(0, e.at-time.Since(began)))
		if err := l.laws.hold(); err != nil {
			return err
		}
		if err := e.do(); err != nil {
			return err
		}
	}
	l.lives(max(0, time.Minute-time.Since(began)))
	crifake.ClearFaults(l.runtime)
	l.drivers.clearFaults()
	l.server.heals()
	if err := l.starts(0); err != nil {
		return err
	}
	l.lives(20 * time.Minute)
	l.reached = l.state()
	if err := l.laws.hold(); err != nil {
		return err
	}
	for _, uid := range sortedKeys(l.server.objects) {
		l.server.deletes(uid, 5)
	}
	for _, uid := range sortedKeys(l.files) {
		l.file(l.files[uid], false)
	}
	l.lives(5 * time.Minute)
	l.collects()
	if left := l.left(); len(left) > 0 || len(l.server.objects) > 0 {
		return fmt.Errorf("all pods were deleted, and there are %q, and %d objects (B-FIN-6)", left, len(l.server.objects))
	}
	return l.laws.hold()
}

// collects removes logs of pods that have ended without a worker, as an agent does each minute (B-GC-5).
func (l *life) collects() {
	shell := l.server.node.shell
	go func() {
		if err := (Remains{shell}).ClearDisk(context.Background()); err != nil {
			l.laws.breaks("clear the disk: %v", err)
		}
		for _, uid := range l.drivers.pods(claims) { // as an agent does, too (A-DRA-9)
			if !shell.known(uid) {
				_ = l.drivers.Unprepare(context.Background(), uid)
			}
		}
	}()
	l.lives(time.Minute)
}

// starts has an agent, after the runtime has come back if need be. The API server that it asks may be behind, unless what agents remember
// was lost: nothing else says how a pod has ended.
func (l *life) starts(stale int) error {
	var err error
	if l.forgot {
		stale = 0
	}
	for range 200 {
		if l.kill != nil {
			return nil
		}
		if err = l.begins(func(versions []*v1.Pod) *v1.Pod { return versions[max(0, len(versions)-1-stale)] }); err != nil {
			time.Sleep(time.Second)
		}
	}
	return err
}

func (l *life) creates(i int) error {
	pod := l.Pods[i].pod(i)
	l.uids[i] = pod.UID
	if l.Pods[i].Static {
		l.file(pod, true)
		return nil
	}
	l.laws.needs[pod.Name] = l.Pods[i].needs(pod.UID)
	pod.CreationTimestamp.Time = time.Now()
	l.server.put(pod)
	return nil
}

func (l *life) asks(a ask) error {
	uid, there := l.uids[a.Pod]
	if !there {
		return nil
	}
	l.note("asked: "+a.What, 1)
	if l.Pods[a.Pod].Static {
		if a.What == "file" {
			if old := l.files[uid]; old != nil {
				l.file(old, false)
				l.versions++
				next := nextVersion(old, 1+l.versions)
				l.uids[a.Pod] = next.UID
				l.file(next, true)
			}
		}
		return nil
	}
	switch a.What {
	case "delete":
		l.server.deletes(uid, int64(a.N))
	case "force":
		l.server.removes(uid)
	case "label":
		l.server.change(uid, func(pod *v1.Pod) { pod.Labels = map[string]string{"n": fmt.Sprint(a.N)} })
	case "image":
		l.server.respec(uid, func(pod *v1.Pod) { pod.Spec.Containers[0].Image = "example.org/app:2" })
	}
	return nil
}

func (l *life) harms(h harm) error {
	l.note(walks.Fault+h.What, 1)
	d := time.Duration(h.N) * time.Millisecond
	switch h.What {
	case "kill", "kill twice":
		l.killed()
		l.lives(d)
		if err := l.starts(h.N % 3); err != nil || h.What == "kill" {
			return err
		}
		l.lives(d / 1000)
		l.killed()
		return l.starts(0)
	case "forget":
		l.killed()
		l.laws.forgets()
		l.forgot = true
		if err := os.RemoveAll(filepath.Join(l.dir, "memory")); err != nil {
			return err
		}
		return l.starts(0)
	case "reboot":
		if err := l.reboots(); err != nil {
			return err
		}
		return l.starts(h.N % 2)
	case "cut":
		l.server.cut = true
	case "heal":
		l.server.heals()
	case "travel":
		if uid, there := l.uids[h.Pod]; there {
			l.server.travels(uid, h.N)
		}
	case "away":
		l.runtime.GoDown(d)
	case "break":
		l.runtime.BreakStreams()
	case "exit":
		if l.Pods[h.Pod].Policy != v1.RestartPolicyNever {
			l.runtime.Exit(l.Pods[h.Pod].name(h.Pod)+"/main", 1)
		}
	case "panic":
		if uid, there := l.uids[h.Pod]; there {
			l.cgroups.panics[uid] = 1 + h.N%3
		}
	case "pressure":
		l.measures(true)
		l.lives(d)
		l.measures(false)
	case "drivers away":
		l.drivers.goAway(d)
		time.AfterFunc(d, func() { // they are back
			l.queue.Deliver(watch, lifecycle.DriverRegistered{}, func() {
				if c := l.server.node; c != nil {
					c.shell.DriverRegistered()
				}
			})
		})
	case "stall":
		if uid, there := l.uids[h.Pod]; there {
			l.queue.stall(uid, d)
		}
	}
	return nil
}

// evicted is how a pod ends, or never begins, because the node is short of something.
const evicted = "evicted"

// state is what each pod has come to, in so far as it does not depend on what went wrong on the way.
func (l *life) state() []string {
	list := make([]string, len(l.Pods))
	for i, pod := range l.Pods {
		uid := l.uids[i]
		status := l.laws.status(uid)
		switch object := l.server.objects[uid]; {
		case object == nil && !pod.Static:
			list[i] = "gone"
		case status == nil:
			list[i] = "without a status"
		case status.Reason == "Evicted":
			list[i] = evicted
		case pod.Policy == v1.RestartPolicyNever: // a fault may be its end
		case pod.Device && l.scarce(): // who asks first gets it
		default:
			list[i] = fmt.Sprintf("%s, ready: %t", status.Phase, ready(status))
		}
	}
	return list
}

// measures has the node short of memory, or no longer.
func (l *life) measures(short bool) {
	l.ram.short.Store(short)
	if c := l.server.node; c != nil {
		c.measures()
	}
}

// brief is a fact or an effect in a line.
func brief(what any) string {
	switch f := what.(type) {
	case sentStatus:
		return fmt.Sprintf("%s %s last=%t", f.pod.UID, briefStatus(&f.status), f.last)
	case roster.Published:
		return fmt.Sprintf("%s %s", f.UID, briefStatus(&f.Status))
	case roster.Resumed:
		return fmt.Sprintf("%s %s", f.UID, briefStatus(&f.Status))
	case roster.Wanted:
		return briefPod(f.Pod)
	case roster.Begin:
		return briefPod(f.Pod)
	case roster.Resume:
		return briefPod(f.Pod)
	case roster.Adopt:
		return briefPod(f.Pod)
	case roster.Refuse:
		return briefPod(f.Pod) + " " + f.Why.Reason
	case lifecycle.PodUpdated:
		return briefPod(f.Pod)
	case *runtimeapi.ContainerStatus:
		return fmt.Sprintf("%s exit code %d", f.GetId(), f.GetExitCode())
	}
	text := fmt.Sprintf("%+v", what)
	return text[:min(len(text), 130)]
}

func briefPod(pod *v1.Pod) string {
	text := fmt.Sprintf("%s generation %d %s", pod.UID, pod.Generation, pod.Status.Phase)
	if pod.DeletionTimestamp != nil {
		text += fmt.Sprintf(", deleted with %d s", *pod.DeletionGracePeriodSeconds)
	}
	return text
}

// briefStatus is the phase, and what each container does: main=running/1 has restarted once.
func briefStatus(s *v1.PodStatus) string {
	text := fmt.Sprintf("%s %s", s.Phase, s.Reason)
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		state := "waiting"
		switch {
		case c.State.Running != nil:
			state = "running"
		case c.State.Terminated != nil:
			state = fmt.Sprint(c.State.Terminated.ExitCode)
		}
		text += fmt.Sprintf(" %s=%s/%d", c.Name, state, c.RestartCount)
	}
	return text
}
