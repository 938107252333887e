package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/lifepod/lifepod/bench/testbed"
	"github.com/lifepod/lifepod/node/shutdown/logindtest"
	"github.com/lifepod/lifepod/node/stats"
)

const mebi = 1 << 20

const (
	// room is how much more memory there is than the threshold before there are pods,
	// and podRoom what a pod and its shim may take of it.
	room    = 3072 * mebi
	podRoom = 10 * mebi
	// beyond is by how much a hog goes beyond the threshold.
	beyond = 1024 * mebi
	// margin is how far from the threshold the machine has to be when a hog comes, so
	// that it is the hog that crosses it.
	margin = 512 * mebi
)

// The periods of a shutdown: in all, and of it for critical pods.
const (
	period         = 30 * time.Second
	criticalPeriod = 10 * time.Second
)

// bench is what both sides are measured on, with a D-Bus that announces shutdowns.
type bench struct {
	*testbed.Testbed
	plan      plan
	threshold uint64 // bytes of memory that are to be available
	bus       bus
	all       results
}

// bus is a D-Bus with a logind.
type bus struct {
	dir    string
	daemon *logindtest.Bus
	logind *logindtest.Logind
}

// openBus makes a logind that lets nodes hold up a shutdown for as long as they want.
func openBus() (b bus, err error) {
	if b.dir, err = os.MkdirTemp("", "lifepod-bench-bus-"); err != nil {
		return b, err
	}
	if b.daemon, err = logindtest.Open(b.dir); err == nil {
		b.logind, err = b.daemon.OpenLogind(time.Hour)
	}
	if err != nil {
		return b, errors.Join(err, b.close())
	}
	return b, nil
}

func (b *bus) close() error {
	if b.logind != nil {
		b.logind.Close()
	}
	if b.daemon != nil {
		b.daemon.Stop()
	}
	return os.RemoveAll(b.dir)
}

func open(ctx context.Context, p plan, log *slog.Logger) (*bench, error) {
	bus, err := openBus()
	if err != nil {
		return nil, err
	}
	bed, err := testbed.Open(ctx, testbed.Config{
		Lifepod: p.Lifepod, Keep: p.Keep, Env: []string{"DBUS_SYSTEM_BUS_ADDRESS=" + bus.daemon.Address()}, Log: log,
	})
	if err != nil {
		return nil, errors.Join(err, bus.close())
	}
	b := &bench{Testbed: bed, plan: p, bus: bus}
	if err := b.addNodes(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// Close ends everything and removes all files.
func (b *bench) Close() error { return errors.Join(b.Testbed.Close(), b.bus.close()) }

func (b *bench) addNodes(ctx context.Context) error {
	now, err := available()
	if err != nil {
		return err
	}
	needed := uint64(room + podRoom*b.plan.pods)
	if now < needed+beyond {
		return fmt.Errorf("the machine has %d MiB of memory left, and %d pods need %d: take fewer (-pods)", now/mebi, b.plan.pods, (needed+beyond)/mebi)
	}
	b.threshold = (now - needed) / mebi * mebi
	testbed.Progress("%d MiB of memory are left, the threshold is %d MiB", now/mebi, b.threshold/mebi)
	return b.AddNodes(ctx, map[string]any{
		"maxPods": max(250, 2*b.plan.pods),
		"evictionHard": map[string]string{
			"memory.available":  fmt.Sprintf("%dMi", b.threshold/mebi),
			"nodefs.available":  "1Gi",
			"nodefs.inodesFree": "1%",
			"imagefs.available": "1Gi",
			"pid.available":     "100",
		},
		"kernelMemcgNotification": b.plan.notify,
		// What is allocatable is what is left beyond the threshold.
		"enforceNodeAllocatable":           []string{"none"},
		"evictionPressureTransitionPeriod": "1s",
		"shutdownGracePeriod":              period.String(),
		"shutdownGracePeriodCriticalPods":  criticalPeriod.String(),
	})
}

// available is how much memory the machine has left, as both sides reckon.
func available() (uint64, error) {
	m, err := stats.ReadMemory("/")
	return m.Limit - min(m.Limit, m.WorkingSet()), err
}
