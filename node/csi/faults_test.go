package csi

import (
	"context"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// faulty is how a driver fails at a call, or is at the moment at which the agent is killed. What
// does not answer calls end, and the caller gives up.
type faulty struct {
	name string
	make func(d *driver, end func()) fault
	dies bool // the driver has to be started again
	lies bool // it says that it has done what it has not
}

var faults = []faulty{
	{name: "refuses", make: func(*driver, func()) fault { return refuses(codes.Internal) }},
	{name: "is busy", make: func(*driver, func()) fault { return refuses(codes.Aborted) }},
	{name: "says that it does not know the volume", make: func(*driver, func()) fault { return refuses(codes.NotFound) }},
	{name: "says that it has failed, and has not", make: func(*driver, func()) fault {
		return func(_ context.Context, do func() error) error {
			if err := do(); err != nil {
				return err
			}
			return status.Error(codes.Internal, "it failed")
		}
	}},
	{name: "says that it has done it, and has not", lies: true, make: func(*driver, func()) fault {
		return func(context.Context, func() error) error { return nil }
	}},
	{name: "hangs", make: func(_ *driver, end func()) fault {
		return func(ctx context.Context, _ func() error) error {
			end()
			<-ctx.Done()
			return ctx.Err()
		}
	}},
	{name: "hangs after it has done it", make: func(_ *driver, end func()) fault {
		return func(ctx context.Context, do func() error) error {
			if err := do(); err != nil {
				return err
			}
			end()
			<-ctx.Done()
			return ctx.Err()
		}
	}},
	{name: "is killed before", dies: true, make: func(d *driver, _ func()) fault {
		return func(ctx context.Context, _ func() error) error {
			go d.server.Stop() // it waits for this call
			<-ctx.Done()
			return ctx.Err()
		}
	}},
	{name: "is killed after", dies: true, make: func(d *driver, _ func()) fault {
		return func(ctx context.Context, do func() error) error {
			err := do()
			go d.server.Stop()
			<-ctx.Done()
			return err
		}
	}},
}

// cell is one of the table of calls and faults.
type cell struct {
	call string
	faulty
	killed bool // the agent, at the call
	goesOn bool // the pod
}

func (c cell) String() string {
	name := []string{c.call, c.name}
	if c.killed {
		name = append(name, "the agent is killed")
	}
	if !c.goesOn {
		name = append(name, "the pod is gone")
	}
	return strings.Join(name, ", ")
}

// atTheEnd says whether it is a call for a pod that has ended.
func (c cell) atTheEnd() bool { return c.call == "Unpublish" || c.call == "Unstage" }

// unnoticed: nobody can know. That a volume is not published the driver notices when it is to
// expand it.
func (c cell) unnoticed() bool { return c.lies && c.call == "Expand" }

// TestFaults is the table of call and fault: whatever a driver does at a call, and if the agent is
// killed then, the pod has its volume once, or none when it is gone, and nothing is left: no mount, no
// folder's content, no record, nothing in use (A-CSI-4, A-CSI-7, A-CSI-12, A-CSI-15).
func TestFaults(t *testing.T) {
	for _, call := range []string{"Stage", "Publish", "Expand", "Unpublish", "Unstage"} {
		for _, f := range faults {
			for _, killed := range []bool{false, true} {
				for _, goesOn := range []bool{true, false} {
					c := cell{call: call, faulty: f, killed: killed, goesOn: goesOn}
					if goesOn && c.atTheEnd() {
						continue
					}
					t.Run(c.String(), func(t *testing.T) {
						t.Parallel()
						c.run(t)
					})
				}
			}
		}
	}
}

func (c cell) run(t *testing.T) {
	claim, bound := growing(v1.PersistentVolumeClaimNodeResizePending)
	m := newMachine(t, newDriver(t, staging, expanding), nil, claim)
	pod := podOf("pod")
	if c.atTheEnd() {
		m.mustPublish(pod, bound)
	}
	c.fail(m, func(ctx context.Context) error {
		if c.atTheEnd() {
			return m.volumes.Unpublish(ctx, pod.UID)
		}
		_, err := m.publishIn(ctx, pod, bound)
		return err
	})
	if c.killed {
		m.begin()
	}
	if c.dies {
		m.restartDriver()
	}
	switch lies := c.lies && c.call == "Stage"; {
	case !c.goesOn:
	case lies: // the driver has to mend that: it is not asked again
		assert.Error(t, `MountVolume.SetUp failed for volume "pv" : rpc error: code = FailedPrecondition desc = not staged`, assert.ErrorOf(m.publish(pod, bound)))
	case c.call == "Expand" && c.name == "says that it does not know the volume": // it can't be expanded, and is had
		m.mustPublish(pod, bound)
		m.wantMounts(1)
	default:
		m.mustPublish(pod, bound)
		m.wantMounts(1)
		m.wantClaim("2Mi", "")
	}
	assert.NoError(t, m.unpublish(pod), "giving it back")
	m.volumes.unstageStrays(t.Context())
	m.wantNothing()
}

// fail has the call fail at which the driver is faulty.
func (c cell) fail(m *machine, do func(context.Context) error) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	m.driver.once(c.call, c.make(m.driver, cancel))
	err := do(ctx)
	assert.True(m.t, (err == nil) == c.unnoticed(), "the caller of %s is told %v", c.call, err)
}

func (m *machine) wantMounts(count int) {
	m.t.Helper()
	mounts := mountsBelow(m.t, m.config.PodsDir)
	assert.True(m.t, len(mounts) == count, "mounts of pods: %q, want %d", mounts, count)
}

// TestFaultsOfRegistration: a driver that fails to say what it knows of the node is not used, and can
// register again (A-CSI-1).
func TestFaultsOfRegistration(t *testing.T) {
	for _, f := range faults {
		if f.name == "says that it has failed, and has not" || f.name == "is busy" {
			continue // as one that refuses
		}
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			m := newMachine(t, newDriver(t), nil)
			other := newDriver(t)
			register := func(ctx context.Context) error {
				return m.config.Drivers.Register(ctx, "other.example.com", other.endpoint, []string{"1.0.0"})
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			other.once("GetInfo", f.make(other, cancel))
			assert.Fails(t, register(ctx), "the driver has registered")
			assert.Fails(t, assert.ErrorOf(m.config.Drivers.Driver("other.example.com")), "the driver is used")
			if f.dies {
				other.start(t, other)
			}
			assert.NoError(t, register(t.Context()))
			assert.NoError(t, assert.ErrorOf(m.config.Drivers.Driver("other.example.com")))
		})
	}
}
