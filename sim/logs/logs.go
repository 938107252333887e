package logs

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

// Write takes a line, or several, without the last newline. It does not block.
func (l *Logs) Write(pod types.UID, container string, number int, stream, text string, at time.Time) {
	i := l.of(pod, container, number)
	if i == nil {
		return
	}
	for one := range strings.SplitSeq(text, "\n") {
		i.write(line{at: at.UnixNano(), text: one, stderr: stream == "stderr"})
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

// Forget drops those of a pod that is gone.
func (l *Logs) Forget(pod types.UID) {
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
