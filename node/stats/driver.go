package stats

import (
	"context"
	"errors"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"
)

// askDriver has the CSI driver of a volume say how full it is (A-CSI-16). name is the one that the
// driver knows.
func (s *Stats) askDriver(ctx context.Context, pod *v1.Pod, name string) (*statsapi.FsStats, error) {
	if s.Pods.OfDriver == nil {
		return nil, nil
	}
	now := metav1.Now()
	answer, err := s.Pods.OfDriver(ctx, pod.UID, name)
	if err != nil || answer == nil {
		return nil, err
	}
	if answer.GetUsage() == nil {
		return nil, errors.New("failed to get usage from response. usage is nil")
	}
	found := usageOf(answer.GetUsage())
	found.Time = now
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
