package csi

import (
	"context"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"k8s.io/apimachinery/pkg/types"
)

// Stats asks the driver of a pod's volume how full it is (A-CSI-16); nil: the pod has no such volume yet, or the driver does not say. It is neither held
// up by other calls for the volume, nor does it hold them up.
func (v *Volumes) Stats(ctx context.Context, pod types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error) {
	uses, err := v.layout.usesOf(pod)
	for _, u := range uses {
		if u.record[keyName] == name {
			return v.stats(ctx, u)
		}
	}
	return nil, err
}

func (v *Volumes) stats(ctx context.Context, u use) (*csi.NodeGetVolumeStatsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, DriverTimeout)
	defer cancel()
	driver, err := v.config.Drivers.Driver(u.driver())
	if err != nil {
		return nil, err
	}
	can, err := driver.Capabilities(ctx)
	if err != nil || !can.VolumeStats {
		return nil, err
	}
	return driver.Stats(ctx, &csi.NodeGetVolumeStatsRequest{VolumeId: u.handle(), VolumePath: v.layout.published(u)})
}
