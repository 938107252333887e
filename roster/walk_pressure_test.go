package roster

import (
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/roster/pressure"
)

const (
	walkTransition  = time.Minute
	walkSoftGrace   = 30 * time.Second
	walkMaxPodGrace = 20
)

// walkPressure are the thresholds of every walk. A hard one of memory or disk is met below
// 1Gi, and then until 2Gi are left.
func walkPressure() pressure.Config {
	list, err := pressure.ParseThresholds(&kubeletconfig.KubeletConfiguration{
		EvictionHard:            map[string]string{"memory.available": "1Gi", "nodefs.available": "1Gi", "pid.available": "100"},
		EvictionMinimumReclaim:  map[string]string{"memory.available": "1Gi", "nodefs.available": "1Gi"},
		EvictionSoft:            map[string]string{"memory.available": "2Gi"},
		EvictionSoftGracePeriod: map[string]string{"memory.available": walkSoftGrace.String()},
	})
	if err != nil {
		panic(err)
	}
	return pressure.Config{Thresholds: list, Transition: walkTransition, MaxPodGrace: walkMaxPodGrace}
}

// levels are what may be left of each signal, the least first: below the hard threshold;
// below what has to be reclaimed; enough.
var levels = map[pressure.Signal][3]int64{
	pressure.Memory: {1 << 29, 3 << 29, 8 << 30},
	pressure.NodeFs: {1 << 29, 3 << 29, 8 << 30},
	pressure.PIDs:   {50, 500, 500},
}

// enough is the last of levels.
const enough = 2

// presses changes what is left of the node, and has it measured.
func (w *walk) presses() {
	signals := slices.Sorted(maps.Keys(levels))
	signal := signals[w.draw(len(signals), "signal")]
	w.left[signal] = levels[signal][min(enough, w.draw(5, "level"))]
	w.feed(w.measures())
}

// measures is what is left of the node now.
func (w *walk) measures() NodeMeasured { return NodeMeasured{Seen: w.observes()} }

func (w *walk) observes() pressure.Observations {
	seen := pressure.Observations{}
	for signal, values := range levels {
		available, changed := w.left[signal]
		if !changed {
			available = values[enough]
		}
		seen[signal] = pressure.Observation{Available: available, Capacity: 16 << 30, At: w.now}
	}
	return seen
}

// reclaims gives back what no pod needs: enough, too little, or what can't be measured.
func (w *walk) reclaims() Fact {
	switch w.draw(4, "reclaimed") {
	case 0:
		return Reclaimed{}
	case 1:
		delete(w.left, pressure.NodeFs)
	}
	return Reclaimed{Seen: w.observes()}
}

// measuresPods is what pods use: as much memory as disk and processes.
func (w *walk) measuresPods() Fact {
	if w.rarely(5, "pods can't be measured") {
		return PodsMeasured{Failed: true}
	}
	used := pressure.Usage{}
	for _, uid := range slices.Sorted(maps.Keys(w.workers)) {
		if w.rarely(8, "one pod is not measured") {
			continue
		}
		amount := w.uses(uid)
		used[uid] = &statsapi.PodStats{
			Memory: &statsapi.MemoryStats{WorkingSetBytes: &amount}, ProcessStats: &statsapi.ProcessStats{ProcessCount: &amount},
			Containers: []statsapi.ContainerStats{{Name: "main", Memory: &statsapi.MemoryStats{WorkingSetBytes: &amount}, Rootfs: &statsapi.FsStats{UsedBytes: &amount}}},
		}
	}
	return PodsMeasured{Used: used}
}

// uses is how much a pod uses.
func (w *walk) uses(uid types.UID) uint64 {
	if w.script != nil {
		return w.script.uses[uid]
	}
	return uint64(w.draw(4, "usage"))
}

// criticalPriority is that of critical pods, the highest one.
const criticalPriority int32 = 2000001000

// randomPriority gives some pods a priority, which can't change: the same one to the same UID.
func (w *walk) randomPriority(pod *v1.Pod) {
	static := pod.Annotations[sourceAnnotation] != ""
	switch {
	case pod.UID == "db-1", !static && w.draw(5, "critical") == 0:
		pod.Spec.Priority = new(criticalPriority)
	case !static && w.draw(4, "important") == 0:
		pod.Spec.Priority = new(int32(1000))
	}
}
