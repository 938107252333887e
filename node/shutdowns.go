package node

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/shutdown"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// newShutdowns watches for shutdowns of the machine; nil: pods get no time to end then. Changed
// is newNode's.
func (s *setup) newShutdowns(c *cluster, inbox *pods.Inbox) *shutdown.Watcher {
	periods := shutdownPeriods(s.config.Kubelet)
	if len(periods) == 0 {
		s.counts.Shutdown((*shutdown.Watcher)(nil).Times)
		return nil
	}
	w := shutdown.Config{
		Time: roster.ShutdownTime(periods), Began: inbox.ShutdownBegan, Cancelled: inbox.ShutdownCancelled,
		Record: filepath.Join(s.options.memory().Dir, "graceful-shutdown.json"), DropIns: shutdown.DropIns, Log: s.log,
	}
	if c != nil {
		w.Event = func(message string) { c.nodeEvent(v1.EventTypeNormal, "Shutdown", message) }
	}
	watcher := shutdown.New(w)
	s.counts.Shutdown(watcher.Times)
	return watcher
}

// shutdownPeriods are how long pods may take to end, the lowest priority first (B-SHD-3). Of
// the plain fields, the second is the part of the first that critical pods have to themselves.
func shutdownPeriods(k *kubeletconfig.KubeletConfiguration) (periods []roster.Period) {
	for _, p := range k.ShutdownGracePeriodByPodPriority {
		periods = append(periods, roster.Period{Priority: p.Priority, GraceSeconds: p.ShutdownGracePeriodSeconds})
	}
	slices.SortFunc(periods, func(a, b roster.Period) int { return cmp.Compare(a.Priority, b.Priority) })
	if total, critical := k.ShutdownGracePeriod.Duration, k.ShutdownGracePeriodCriticalPods.Duration; len(periods) == 0 && total > 0 {
		periods = []roster.Period{
			{GraceSeconds: int64((total - critical) / time.Second)},
			{Priority: lifecycle.LowestCriticalPriority, GraceSeconds: int64(critical / time.Second)},
		}
	}
	return periods
}

// notReady is a further reason not to be Ready than those of the runtime.
type notReady struct {
	network   *podNetwork       // may be nil
	shutdowns *shutdown.Watcher // may be nil
	health    *health
	csi       func() error // may be nil
}

func (n notReady) err() error {
	errs := []error{n.health.notReady(), n.shutdowns.NotReady()}
	if n.network != nil {
		errs = append(errs, n.network.ready())
	}
	if n.csi != nil {
		errs = append(errs, n.csi())
	}
	return utilerrors.NewAggregate(errs)
}
