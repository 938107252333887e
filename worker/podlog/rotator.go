package podlog

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/mailbox"
)

// Rotator rotates the logs of a node's running containers. Make it with NewRotator,
// tell it of each pod's running containers with Watch, run it with Run.
type Rotator struct {
	// immutable
	policy RotationPolicy
	reopen Reopen
	log    *slog.Logger

	news        mailbox.Signal // the logs to watch have changed
	compressing chan struct{}  // one file at a time is compressed

	mu   sync.Mutex
	pods map[types.UID]*podLogs
}

// podLogs are the logs of one pod's running containers. What is at work on them
// ends with ctx, and is waited for.
type podLogs struct {
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
	logs   map[string]*rotating // by container ID
}

// rotating is one log.
type rotating struct {
	// immutable
	RotatedLog
	pod *podLogs

	// owned by Run
	position position
	quiet    os.FileInfo // the file of which the kernel tells of the next write; nil: it does not
	due      time.Time

	// guarded by the Rotator's mutex
	looks, rotation, compression job
}

// job is one kind of work on a log.
type job struct {
	underWay bool
	failures int    // in a row
	logged   string // the failure that was told last
}

// NewRotator prepares a rotator; reopen may be called for several containers at once.
func NewRotator(policy RotationPolicy, reopen Reopen, log *slog.Logger) *Rotator {
	return &Rotator{
		policy: policy, reopen: reopen, log: log,
		news: mailbox.NewSignal(), compressing: make(chan struct{}, 1),
		pods: map[types.UID]*podLogs{},
	}
}

// Watch says which logs of a pod are written: those that are not named are left
// alone from now on. It does not block.
func (r *Rotator) Watch(pod types.UID, logs []RotatedLog) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.pods[pod]
	if p == nil && len(logs) == 0 {
		return // it has left, or writes nothing yet
	}
	if p == nil {
		p = &podLogs{logs: map[string]*rotating{}}
		p.ctx, p.cancel = context.WithCancel(context.Background())
		r.pods[pod] = p
	}
	running, changed := map[string]*rotating{}, len(logs) != len(p.logs)
	for _, l := range logs {
		w := p.logs[l.ContainerID]
		if w == nil {
			w, changed = &rotating{RotatedLog: l, pod: p}, true
		}
		running[l.ContainerID] = w
	}
	if p.logs = running; changed {
		r.news.Send()
	}
}

// isWritten says whether the log's container runs. Called with the Rotator's mutex held.
func (w *rotating) isWritten() bool { return w.pod.ctx.Err() == nil && w.pod.logs[w.ContainerID] == w }

// Leave forgets a pod and returns when nothing is at work on its logs any more.
func (r *Rotator) Leave(pod types.UID) {
	r.mu.Lock()
	p := r.pods[pod]
	delete(r.pods, pod)
	if p != nil {
		p.cancel()
		r.news.Send()
	}
	r.mu.Unlock()
	if p != nil {
		p.work.Wait()
	}
}
