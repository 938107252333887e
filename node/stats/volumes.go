package stats

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/lifepod/lifepod/worker/volumes"
)

const (
	// sizeTimeout bounds the measuring of one volume.
	sizeTimeout = 5 * time.Minute
	// sizePatience is how long an answer waits for volumes that are being
	// measured; they are in a later one.
	sizePatience = 2 * time.Second
	// measuredAtOnce bounds the load on the disk.
	measuredAtOnce = 2
)

type volumeKey struct {
	pod  types.UID
	name string
}

// volumeSizes are those that somebody has asked for.
type volumeSizes struct {
	mu   sync.Mutex
	of   map[volumeKey]*volumeSize
	slot chan struct{}
}

// volumeSize is the newest size of a volume. Guarded by volumeSizes.mu.
type volumeSize struct {
	stats    *statsapi.FsStats // nil: nothing is known
	at       time.Time         // when the last measuring ended, well or not
	underWay chan struct{}     // closed at its end; nil: none
	began    time.Time         // when that has
}

// sizedVolume is a volume with its size.
type sizedVolume struct {
	stats     statsapi.VolumeStats
	ephemeral bool // it counts as the pod's ephemeral storage
}

// sizes are the sizes of the pods' volumes that are known; old ones are measured
// anew. which picks volumes.
func (s *Stats) sizes(ctx context.Context, pods map[types.UID]*v1.Pod, which func(*v1.Volume) bool) map[types.UID][]sizedVolume {
	if s.VolumePeriod < 0 {
		return nil
	}
	var underWay []chan struct{}
	for uid, pod := range pods {
		for i := range pod.Spec.Volumes {
			if v := &pod.Spec.Volumes[i]; which(v) {
				key := volumeKey{uid, v.Name}
				if done := s.measure(key, pod, v); done != nil {
					underWay = append(underWay, done)
				}
			}
		}
	}
	awaitAll(ctx, underWay)
	return s.known(pods, which)
}

// awaitAll waits a moment until all are over.
func awaitAll(ctx context.Context, list []chan struct{}) {
	patience := time.NewTimer(sizePatience)
	defer patience.Stop()
	for _, over := range list {
		select {
		case <-over:
		case <-patience.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Stats) known(pods map[types.UID]*v1.Pod, which func(*v1.Volume) bool) map[types.UID][]sizedVolume {
	s.volumes.mu.Lock()
	defer s.volumes.mu.Unlock()
	found := map[types.UID][]sizedVolume{}
	for uid, pod := range pods {
		for i := range pod.Spec.Volumes {
			v := &pod.Spec.Volumes[i]
			if size := s.volumes.of[volumeKey{uid, v.Name}]; which(v) && size != nil && size.stats != nil {
				found[uid] = append(found[uid], sizedVolume{
					statsapi.VolumeStats{FsStats: *size.stats, Name: v.Name, PVCRef: claimOf(pod, v)}, ephemeral(v),
				})
			}
		}
	}
	return found
}

// forget drops the volumes of pods that have gone.
func (z *volumeSizes) forget(pods map[types.UID]*v1.Pod) {
	z.mu.Lock()
	defer z.mu.Unlock()
	for key := range z.of {
		if pods[key.pod] == nil {
			delete(z.of, key)
		}
	}
}

// measure begins to measure a volume unless its size is new enough. What it
// returns is closed at the end; nil: nothing is under way that is worth waiting for.
func (s *Stats) measure(key volumeKey, pod *v1.Pod, v *v1.Volume) chan struct{} {
	z := &s.volumes
	z.mu.Lock()
	defer z.mu.Unlock()
	if z.slot == nil {
		z.slot = make(chan struct{}, measuredAtOnce)
	}
	size := z.of[key]
	if size == nil {
		size = &volumeSize{}
		z.of[key] = size
	}
	switch {
	case size.underWay != nil && time.Since(size.began) >= sizePatience:
		return nil // somebody has waited for it in vain
	case size.underWay != nil || !size.at.IsZero() && time.Since(size.at) < s.VolumePeriod:
		return size.underWay
	}
	over := make(chan struct{})
	size.underWay, size.began = over, time.Now()
	go func() {
		defer close(over)
		ctx, cancel := context.WithTimeout(context.Background(), sizeTimeout)
		defer cancel()
		found, err := s.measureNow(ctx, pod, v)
		if err != nil {
			s.Log.Debug("can't measure a volume", "pod", pod.Namespace+"/"+pod.Name, "volume", v.Name, "err", err)
		}
		z.mu.Lock()
		defer z.mu.Unlock()
		size.at, size.underWay, size.stats = time.Now(), nil, found
	}()
	return over
}

// measureNow finds nothing of a volume that isn't made, or of which nothing is to be said.
func (s *Stats) measureNow(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*statsapi.FsStats, error) {
	bound, err := s.bound(ctx, pod, v)
	if err != nil || isClaim(v) && bound == nil {
		return nil, err
	}
	began := time.Now()
	if bound != nil && bound.Spec.CSI != nil {
		defer func() { s.Measured(bound.Spec.CSI.Driver, time.Since(began)) }()
		return s.askDriver(ctx, pod, bound.Name)
	}
	if v.CSI != nil {
		defer func() { s.Measured(v.CSI.Driver, time.Since(began)) }()
		return s.askDriver(ctx, pod, v.Name)
	}
	s.volumes.slot <- struct{}{}
	defer func() { <-s.volumes.slot }()
	return s.measureFolder(ctx, pod, v, bound)
}

func (s *Stats) measureFolder(ctx context.Context, pod *v1.Pod, v *v1.Volume, bound *v1.PersistentVolume) (*statsapi.FsStats, error) {
	name := ""
	if bound != nil {
		name = bound.Name
	}
	path := volumes.Folder(filepath.Join(s.Pods.Dir, string(pod.UID)), v, name)
	if path == "" {
		return nil, nil
	}
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("measure volume: %w", err)
	}
	began, source := time.Now(), "statfs"
	defer func() { s.Measured(source, time.Since(began)) }()
	fs, err := FileSystem(path)
	if err != nil || isClaim(v) { // a volume of its own is all of a file system
		return fs, err
	}
	source = "du"
	size, err := volumes.Measure(ctx, path)
	if err != nil {
		return nil, err
	}
	return on(fs, time.Now(), uint64(size.Bytes), uint64(size.Inodes)), nil
}

// bound is what the claim of a volume is bound to; nil for another volume.
func (s *Stats) bound(ctx context.Context, pod *v1.Pod, v *v1.Volume) (*v1.PersistentVolume, error) {
	if !isClaim(v) || s.Pods.Bound == nil {
		return nil, nil
	}
	return s.Pods.Bound(ctx, pod, v)
}

func isClaim(v *v1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }

// isMeasured says whether Kubernetes tells the size of such a volume.
func isMeasured(v *v1.Volume) bool { return v.HostPath == nil && v.Image == nil }

// ephemeral says whether a volume counts as ephemeral storage (B-LST-1).
func ephemeral(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.Medium == v1.StorageMediumDefault || v.ConfigMap != nil
}

func claimOf(pod *v1.Pod, v *v1.Volume) *statsapi.PVCReference {
	switch {
	case v.PersistentVolumeClaim != nil:
		return &statsapi.PVCReference{Name: v.PersistentVolumeClaim.ClaimName, Namespace: pod.Namespace}
	case v.Ephemeral != nil:
		return &statsapi.PVCReference{Name: pod.Name + "-" + v.Name, Namespace: pod.Namespace}
	}
	return nil
}

// file is what one file takes; nothing if it isn't there.
func file(path string) space {
	s := space{at: time.Now()}
	info, err := os.Lstat(path)
	if err != nil {
		return s
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		s.bytes, s.inodes = uint64(stat.Blocks)*512, 1
	}
	return s
}
