package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/roster/admit"
	"github.com/lifepod/lifepod/worker/volumes"
)

// gpu is the device that pods of a walk ask for.
const gpu = "example.org/gpu"

// What a pod has of the node's drivers.
const (
	claims    = "claims"
	published = "volumes"
	device    = "a device"
)

// drivers are the node's, for the claims, volumes and devices of its pods. What they have given outlives the agent that had asked
// for it, and so do their calls.
type drivers struct {
	volumes string // the folder of pods' volumes
	devices int    // that nobody has

	mu     sync.Mutex
	faults []driverFault
	until  time.Time // no call gets through before
	boot   int       // how many times the machine has started
	busy   map[given]bool
	has    map[given]bool
}

type given struct {
	uid  types.UID
	what string
}

// driverFault is what becomes of the next calls of a name.
type driverFault struct {
	Verb, Call string
	Times      int
	By         time.Duration
}

func newDrivers(dir string, devices int) *drivers {
	return &drivers{volumes: filepath.Join(dir, "pods"), devices: devices, busy: map[given]bool{}, has: map[given]bool{}}
}

// reboots is when mounts, and what drivers have prepared for the runtime, are gone; who has a device is kept on disk.
func (d *drivers) reboots() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.boot++
	clear(d.busy)
	for g := range d.has {
		if g.what != device {
			delete(d.has, g)
		}
	}
}

// goAway has no call get through for a while.
func (d *drivers) goAway(while time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.until = time.Now().Add(while)
}

// clearFaults has nothing go wrong any more.
func (d *drivers) clearFaults() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults, d.until = nil, time.Time{}
}

func (d *drivers) next(call string) driverFault {
	for i := range d.faults {
		if f := &d.faults[i]; f.Call == call && f.Times > 0 {
			f.Times--
			return *f
		}
	}
	return driverFault{}
}

// call asks a driver to do something for a pod. The driver finishes it, even if nobody waits for the answer any more. Until then it
// refuses other calls for the same.
func (d *drivers) call(ctx context.Context, call string, g given, do func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Now().Before(d.until) {
		return errors.New("the driver is not registered")
	}
	if d.busy[g] {
		return errors.New("the driver is at it already")
	}
	switch f := d.next(call); f.Verb {
	case "fail":
		return errors.New("the driver refuses")
	case "carry-out-then-fail":
		do()
		return errors.New("the driver has lost its answer")
	case "slow":
		d.busy[g] = true
		done := make(chan struct{})
		boot := d.boot
		time.AfterFunc(f.By, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.boot == boot {
				do()
				delete(d.busy, g)
			}
			close(done)
		})
		d.mu.Unlock()
		defer d.mu.Lock()
		select {
		case <-done:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	default:
		do()
	}
	return nil
}

// Prepare is worker.Claims'.
func (d *drivers) Prepare(ctx context.Context, pod *v1.Pod) error {
	g := given{pod.UID, claims}
	return d.call(ctx, "Prepare", g, func() { d.has[g] = true })
}

// Unprepare is worker.Claims'.
func (d *drivers) Unprepare(ctx context.Context, uid types.UID) error {
	g := given{uid, claims}
	if !d.may(g) {
		return nil // no driver has anything of it
	}
	return d.call(ctx, "Unprepare", g, func() { delete(d.has, g) })
}

// may says whether a pod has something, or may come to have it.
func (d *drivers) may(g given) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.has[g] || d.busy[g]
}

func (d *drivers) Publish(ctx context.Context, r volumes.CSIRequest) (volumes.CSIVolume, error) {
	g, path := given{r.Pod.UID, published}, filepath.Join(d.volumes, string(r.Pod.UID), "volumes", "csi", r.Volume)
	if err := os.MkdirAll(path, 0o700); err != nil { // as an agent has it: what is left of a pod is found by its folder
		return volumes.CSIVolume{}, err
	}
	err := d.call(ctx, "Publish", g, func() { d.has[g] = true })
	return volumes.CSIVolume{Path: path}, err
}

// Unpublish is volumes.CSI's.
func (d *drivers) Unpublish(ctx context.Context, uid types.UID) error {
	g := given{uid, published}
	if !d.may(g) {
		return nil
	}
	return d.call(ctx, "Unpublish", g, func() { delete(d.has, g) })
}

// Asks is Allocator's.
func (*drivers) Asks(pod *v1.Pod) bool {
	return !pod.Spec.Containers[0].Resources.Limits.Name(gpu, "").IsZero()
}

// Allocate is Allocator's. It is the agent's own: one that is killed gives nothing any more.
func (d *drivers) Allocate(ctx context.Context, pod *v1.Pod) roster.Allocated {
	g, answer := given{pod.UID, device}, roster.Allocated{UID: pod.UID}
	d.mu.Lock()
	slow := d.next("Allocate").By
	d.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		return answer
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.has[g]:
		answer.Given = []v1.ResourceName{gpu}
	case d.devices > 0:
		d.devices--
		d.has[g], answer.Given = true, []v1.ResourceName{gpu}
	default:
		answer.Refusal, answer.Lacks = &admit.Refusal{Reason: "UnexpectedAdmissionError", Message: "no device is left"}, gpu
	}
	return answer
}

// Release is Allocator's.
func (d *drivers) Release(uid types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g := (given{uid, device}); d.has[g] {
		delete(d.has, g)
		d.devices++
	}
}

// Held is Allocator's.
func (d *drivers) Held() []types.UID { return d.pods(device) }

// Fixed is Allocator's.
func (*drivers) Fixed() roster.Fixed { return roster.Fixed{} }

// pods are those that have something.
func (d *drivers) pods(what string) (list []types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range sortedGiven(d.has) {
		if g.what == what {
			list = append(list, g.uid)
		}
	}
	return list
}

// left is what drivers still have of pods.
func (d *drivers) left() (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range sortedGiven(d.has) {
		list = append(list, fmt.Sprintf("%s of %s", g.what, g.uid))
	}
	return list
}

func sortedGiven(has map[given]bool) []given {
	return slices.SortedFunc(maps.Keys(has), func(a, b given) int { return cmp.Or(cmp.Compare(a.uid, b.uid), cmp.Compare(a.what, b.what)) })
}

// lacks is what a pod needs and has not.
func (d *drivers) lacks(needs []given) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range needs {
		if !d.has[g] {
			list = append(list, g.what)
		}
	}
	return list
}
