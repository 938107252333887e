package pods

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/lifecycle"
)

// nodeLaws hold on a node at any time. They know what the runtime has, what the API server is told, and what is logged.
type nodeLaws struct {
	node *ledNode

	mu       sync.Mutex
	broken   []error
	statuses map[types.UID]*v1.PodStatus // reported last by the agent of now, or as the API server had them when it began
	ended    map[types.UID]string        // names of pods of which a terminal phase was told
	needs    map[string][]given          // what pods have while something of them runs, by their names; of the queue's goroutine
}

func newNodeLaws(n *ledNode) *nodeLaws {
	return &nodeLaws{node: n, statuses: map[types.UID]*v1.PodStatus{}, ended: map[types.UID]string{}, needs: map[string][]given{}}
}

// begins is for another agent: what the one before had reported, and the API server has not heard, may be lost with it.
func (l *nodeLaws) begins() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.statuses)
	for uid, pod := range l.node.server.objects {
		l.statuses[uid] = &pod.Status
	}
}

// forgets is when what agents remember is lost: nobody knows any more how a pod has ended that the API server has not heard of, such as
// one that was evicted, or a static one (B-STA-8).
func (l *nodeLaws) forgets() {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.ended, func(uid types.UID, _ string) bool {
		object := l.node.server.objects[uid]
		return object == nil || !lifecycle.Terminal(object.Status.Phase)
	})
}

func (l *nodeLaws) breaks(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.broken = append(l.broken, fmt.Errorf(format, args...))
}

// hold are the laws after each turn; the error says which are broken.
func (l *nodeLaws) hold() error {
	if doubled := l.node.runtime.Doubled(); len(doubled) > 0 {
		l.breaks("two instances of one container run at the same time: %q (B-E2E-1)", doubled)
	}
	l.mu.Lock()
	ended := slices.Sorted(maps.Values(l.ended))
	l.mu.Unlock()
	for _, name := range ended {
		if running := l.running(name); len(running) > 0 {
			l.breaks("%s has ended, and %q (B-FIN-3)", name, running)
		}
	}
	for _, name := range sortedKeys(l.needs) {
		if lacks := l.node.drivers.lacks(l.needs[name]); len(lacks) > 0 {
			if running := l.running(name); len(running) > 0 {
				l.breaks("%q, and %s has not %q (A-DRA-2, A-DRA-8, A-CSI-7, A-DEV-9)", running, name, lacks)
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return errors.Join(l.broken...)
}

func (l *nodeLaws) running(pod string) []string {
	return slices.DeleteFunc(l.node.runtime.Left(), func(line string) bool {
		return !strings.HasPrefix(line, pod+"/") || !strings.HasSuffix(line, " running")
	})
}

// checkStatus holds the laws of each status.
func (l *nodeLaws) checkStatus(pod *v1.Pod, status *v1.PodStatus) {
	l.mu.Lock()
	was := l.statuses[pod.UID]
	l.statuses[pod.UID] = status
	for uid, name := range l.ended {
		if name == pod.Name && uid != pod.UID {
			delete(l.ended, uid) // another pod has its name now
		}
	}
	if lifecycle.Terminal(status.Phase) {
		l.ended[pod.UID] = pod.Name
	}
	l.mu.Unlock()
	if lifecycle.Terminal(status.Phase) && ready(status) {
		l.breaks("%s is %s and Ready (B-FIN-4)", pod.Name, status.Phase)
	}
	if was == nil {
		return
	}
	if lifecycle.Terminal(was.Phase) && status.Phase != was.Phase {
		l.breaks("%s was %s, and is %s (B-FIN-2)", pod.Name, was.Phase, status.Phase)
	}
	for _, c := range status.ContainerStatuses {
		before := slices.IndexFunc(was.ContainerStatuses, func(o v1.ContainerStatus) bool { return o.Name == c.Name })
		if before >= 0 && was.ContainerStatuses[before].RestartCount > c.RestartCount {
			l.breaks("%s/%s: restartCount was %d, and is %d (A-STAT-7)", pod.Name, c.Name, was.ContainerStatuses[before].RestartCount, c.RestartCount)
		}
	}
}

// status is what was told last.
func (l *nodeLaws) status(uid types.UID) *v1.PodStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.statuses[uid]
}

// deletes is the law of objects that are told to be deleted.
func (l *nodeLaws) deletes(pod *v1.Pod) {
	if running := l.running(pod.Name); len(running) > 0 {
		l.breaks("the object of %s is to be deleted, and %q (B-FIN-6)", pod.Name, running)
	}
}

// panicOfCgroup is the panic that a walk has happen.
const panicOfCgroup = "the cgroup of "

// Handle takes what is logged: an error is one here, and so is a panic of a worker, but for that.
func (l *nodeLaws) Handle(_ context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError || strings.Contains(r.Message, "panicked") && !strings.Contains(r.Message, panicOfCgroup) {
		l.breaks("logged: %s", r.Message)
	}
	return nil
}

// Enabled is slog.Handler's.
func (l *nodeLaws) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }

func (l *nodeLaws) WithAttrs([]slog.Attr) slog.Handler { return l }

func (l *nodeLaws) WithGroup(string) slog.Handler { return l }

// left is what there still is of pods on the machine.
func (n *ledNode) left() (list []string) {
	list = slices.Concat(n.runtime.Left(), n.drivers.left())
	for _, folder := range []string{"pods", "logs", "memory"} {
		entries, _ := os.ReadDir(filepath.Join(n.dir, folder)) // one that is not there has nothing
		for _, e := range entries {
			if e.Name() != "boot-id" {
				list = append(list, folder+"/"+e.Name())
			}
		}
	}
	return list
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
