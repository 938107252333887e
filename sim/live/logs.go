package live

import (
	"slices"
	"strings"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/node/server"
)

const (
	// MaxBytes is how much of one instance's output is kept, the newest: as much as the kubelet's rotation
	// leaves by its defaults, containerLogMaxFiles of containerLogMaxSize.
	MaxBytes = 5 * 10 << 20
	// keptInstances are those of a container whose logs can be asked for: the newest, and the one before (--previous).
	keptInstances = 2
)

// Logs are those of all pods of a process. The zero value has none.
type Logs struct {
	mu   sync.Mutex
	pods map[types.UID][]*instance // the oldest first
}

// Written is what an instance of a container has written.
type Written struct {
	Container string
	Instance  int
	Stream    string // stdout or stderr
	Text      string // a line, or several, without the last newline
	At        time.Time
}

// Write takes what a pod has written. It does not block.
func (l *Logs) Write(pod types.UID, w Written) {
	i := l.of(pod, w.Container, w.Instance)
	if i == nil {
		return
	}
	for one := range strings.SplitSeq(w.Text, "\n") {
		i.write(line{at: w.At.UnixNano(), text: one, stderr: w.Stream == "stderr"})
	}
}

// Open opens the log of an instance. One that has written nothing has an empty one; nil: it is too old.
func (l *Logs) Open(pod *v1.Pod, container string, number int, dropped func()) server.Log {
	i := l.of(pod.UID, container, number)
	if i == nil {
		return nil
	}
	return &log{instance: i, dropped: dropped}
}

// Register takes that a pod lives here. It is kept from its first line on.
func (*Logs) Register(*v1.Pod) {}

// Unregister drops the logs of a pod that is gone.
func (l *Logs) Unregister(pod types.UID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.pods, pod)
}

// of is the log of an instance, which it makes; nil: there are newer ones enough.
func (l *Logs) of(pod types.UID, container string, number int) *instance {
	l.mu.Lock()
	defer l.mu.Unlock()
	list, others, oldest := l.pods[pod], 0, -1
	for at, i := range list {
		if i.container != container {
			continue
		}
		if i.number == number {
			return i
		}
		if others++; oldest < 0 || i.number < list[oldest].number {
			oldest = at
		}
	}
	if others >= keptInstances {
		if list[oldest].number > number {
			return nil
		}
		list = slices.Delete(list, oldest, oldest+1)
	}
	made := &instance{container: container, number: number}
	if l.pods == nil {
		l.pods = map[types.UID][]*instance{}
	}
	l.pods[pod] = append(list, made)
	return made
}
