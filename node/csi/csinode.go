package csi

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
)

// migrated are the volume plugins that Kubernetes has no more, whose volumes CSI drivers serve:
// the cluster's controllers want to know that the node knows of it.
const migrated = "kubernetes.io/aws-ebs,kubernetes.io/azure-disk,kubernetes.io/azure-file,kubernetes.io/cinder," +
	"kubernetes.io/gce-pd,kubernetes.io/portworx-volume,kubernetes.io/vsphere-volume"

// drivers are those of a CSINode.
type drivers []storagev1.CSINodeDriver

// without leaves a driver out.
func (d drivers) without(name string) drivers {
	return slices.DeleteFunc(slices.Clone(d), func(one storagev1.CSINodeDriver) bool { return one.Name == name })
}

// with has what a driver says now.
func (d drivers) with(name string, about *DriverOnNode) drivers {
	now := storagev1.CSINodeDriver{Name: name, NodeID: about.NodeID, TopologyKeys: slices.Sorted(maps.Keys(about.Topology))}
	if about.MaxVolumes > 0 {
		now.Allocatable = &storagev1.VolumeNodeResources{Count: new(int32(min(about.MaxVolumes, math.MaxInt32)))}
	}
	if i := slices.IndexFunc(d, func(one storagev1.CSINodeDriver) bool { return one.Name == name }); i >= 0 {
		d = slices.Clone(d)
		d[i] = now
		return d
	}
	return append(slices.Clone(d), now)
}

// editCSINode changes the drivers of this node's CSINode, and makes it if there is none.
func (a nodeAPI) editCSINode(ctx context.Context, node types.UID, change func(drivers) drivers) error {
	return edit(ctx, func(ctx context.Context) error {
		nodes := a.client.StorageV1().CSINodes()
		now, err := a.ownCSINode(ctx, node)
		if err != nil {
			return err
		}
		if now == nil {
			fresh := a.newCSINode(node)
			fresh.Spec.Drivers = change(fresh.Spec.Drivers)
			_, err = nodes.Create(ctx, fresh, metav1.CreateOptions{})
			return err
		}
		wanted := now.DeepCopy()
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, v1.MigratedPluginsAnnotationKey, migrated)
		wanted.Spec.Drivers = change(now.Spec.Drivers)
		if apiequality.Semantic.DeepEqual(wanted, now) {
			return nil
		}
		_, err = nodes.Update(ctx, wanted, metav1.UpdateOptions{})
		return err
	})
}

// ownCSINode is the one that there is, or nil. That of a former Node of this name goes: the
// garbage collector is about to remove it anyway.
func (a nodeAPI) ownCSINode(ctx context.Context, node types.UID) (*storagev1.CSINode, error) {
	nodes := a.client.StorageV1().CSINodes()
	now, err := nodes.Get(ctx, a.name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	isOurs := func(o metav1.OwnerReference) bool { return o.Kind == "Node" && o.Name == a.name && o.UID == node }
	if err != nil || slices.ContainsFunc(now.OwnerReferences, isOurs) {
		return now, err
	}
	err = nodes.Delete(ctx, a.name, metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(now.UID))})
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("error deleting existing CSINode %q: %w", a.name, err)
	}
	return nil, nil
}

func (a nodeAPI) newCSINode(node types.UID) *storagev1.CSINode {
	return &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{
			Name: a.name, Annotations: map[string]string{v1.MigratedPluginsAnnotationKey: migrated},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: a.name, UID: node}},
		},
		Spec: storagev1.CSINodeSpec{Drivers: drivers{}},
	}
}

// counter asks one driver for its limit from time to time.
type counter struct {
	period time.Duration
	end    context.CancelFunc
}

// keepCounts has the CSINode say how many volumes each driver takes, as often as its CSIDriver
// asks for, until ctx ends (A-CSI-2).
func (r *Registry) keepCounts(ctx context.Context) {
	counters := map[string]counter{}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		periods := r.periods()
		for name, c := range counters {
			if periods[name] != c.period {
				c.end()
				delete(counters, name)
			}
		}
		for name, period := range periods {
			if _, runs := counters[name]; runs {
				continue
			}
			counting, end := context.WithCancel(ctx)
			counters[name] = counter{period: period, end: end}
			running.Go(func() { r.keepCount(counting, name, period) })
		}
		select {
		case <-ctx.Done():
			for _, c := range counters {
				c.end()
			}
			return
		case <-r.recount:
		}
	}
}

// periods are those of the drivers that are to be asked.
func (r *Registry) periods() map[string]time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	periods := map[string]time.Duration{}
	for name := range r.drivers {
		if known := r.objects.Known(name); known != nil && known.Spec.NodeAllocatableUpdatePeriodSeconds != nil {
			if seconds := *known.Spec.NodeAllocatableUpdatePeriodSeconds; seconds > 0 {
				periods[name] = time.Duration(seconds) * time.Second
			}
		}
	}
	return periods
}

func (r *Registry) keepCount(ctx context.Context, name string, period time.Duration) {
	_ = wait.PollUntilContextCancel(ctx, period, false, func(ctx context.Context) (bool, error) {
		if err := r.Recount(ctx, name); err != nil && ctx.Err() == nil {
			r.config.Log.WarnContext(ctx, "ask a CSI driver how many volumes the node may have", "driver", name, "err", err)
		}
		return false, nil
	})
}

// Recount asks a driver how many volumes the node may have, and has the CSINode say so. To be
// called when a volume could not be attached for want of resources, too.
func (r *Registry) Recount(ctx context.Context, name string) error {
	d, err := r.Driver(name)
	if err != nil {
		return err
	}
	answer, err := d.nodeInfo(ctx)
	if err != nil {
		return fmt.Errorf("failed to get NodeGetInfo from driver %q: %w", name, err)
	}
	if d.maxVolumes.Swap(answer.GetMaxVolumesPerNode()) == answer.GetMaxVolumesPerNode() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest(name) == d {
		r.Node.Want(name, d.about())
	}
	return nil
}
