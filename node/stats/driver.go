package stats

import (
	"context"
	"errors"
	"fmt"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// askDriver has the CSI driver of a volume say how full it is, and how it is if somebody wants to
// know (A-CSI-16). volume is its name in the pod, name the one that its driver knows.
func (s *Stats) askDriver(ctx context.Context, pod *v1.Pod, volume, name string) (measured, error) {
	if s.Pods.OfDriver == nil {
		return measured{}, nil
	}
	now := metav1.Now()
	answer, err := s.Pods.OfDriver(ctx, pod.UID, name)
	if err != nil || answer == nil {
		return measured{}, err
	}
	found := measured{stats: usageOf(answer.GetUsage())}
	found.stats.Time = now
	condition := answer.GetVolumeCondition()
	switch {
	case s.Abnormal != nil && condition != nil:
		found.health = &statsapi.VolumeHealthStats{Abnormal: condition.GetAbnormal()}
		if condition.GetAbnormal() {
			s.Abnormal(pod, fmt.Sprintf("Volume %s: %s", volume, condition.GetMessage()))
		}
	case answer.GetUsage() == nil:
		return measured{}, errors.New("failed to get usage from response. usage is nil")
	}
	return found, nil
}

// usageOf has what a driver says; what it does not say is 0, as with the kubelet.
func usageOf(list []*csi.VolumeUsage) *statsapi.FsStats {
	fs := &statsapi.FsStats{
		AvailableBytes: new(uint64), CapacityBytes: new(uint64), UsedBytes: new(uint64),
		InodesFree: new(uint64), Inodes: new(uint64), InodesUsed: new(uint64),
	}
	for _, u := range list {
		switch u.GetUnit() {
		case csi.VolumeUsage_BYTES:
			*fs.AvailableBytes, *fs.CapacityBytes, *fs.UsedBytes = uint64(u.GetAvailable()), uint64(u.GetTotal()), uint64(u.GetUsed())
		case csi.VolumeUsage_INODES:
			*fs.InodesFree, *fs.Inodes, *fs.InodesUsed = uint64(u.GetAvailable()), uint64(u.GetTotal()), uint64(u.GetUsed())
		default: // it is of no figure here
		}
	}
	return fs
}

// WatchHealth asks how volumes are until ctx ends, whether or not somebody asks for figures.
func (s *Stats) WatchHealth(ctx context.Context) {
	if s.Abnormal == nil || s.VolumePeriod <= 0 {
		return
	}
	_ = wait.PollUntilContextCancel(ctx, s.VolumePeriod, false, func(ctx context.Context) (bool, error) {
		pods := map[types.UID]*v1.Pod{}
		for _, pod := range s.Pods.List() {
			pods[pod.UID] = pod
		}
		s.volumes.forget(pods)
		s.sizes(ctx, pods, func(v *v1.Volume) bool { return isClaim(v) || v.CSI != nil })
		return false, nil
	})
}
