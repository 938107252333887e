package localvolume

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/lifepod/lifepod/cluster/reclaim"
	"github.com/lifepod/lifepod/node/localdriver"
)

const (
	// measureEvery is how often capacities are measured though nothing has happened: others
	// write to the disks, too.
	measureEvery = time.Minute
	// settle is how long it waits before, so that a StatefulSet's volumes cost one report.
	settle = 200 * time.Millisecond
)

// capacityNamespace has the CSIStorageCapacities, and capacityLabel is on each of ours.
const (
	capacityNamespace = metav1.NamespaceSystem
	capacityLabel     = "csi.storage.k8s.io/drivername"
)

// publishCapacities keeps what the scheduler knows about the room on each node up to date until
// ctx ends.
func (c *controller) publishCapacities(ctx context.Context) {
	ticker := time.NewTicker(measureEvery)
	defer ticker.Stop()
	for {
		if err := c.publish(ctx); err != nil && ctx.Err() == nil {
			c.Log.Warn("can't say how much room there is for local volumes", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			continue
		case <-c.measure:
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(settle):
		}
	}
}

// publish measures the room on each node, and says it for each class.
func (c *controller) publish(ctx context.Context) error {
	have, err := c.Client.StorageV1().CSIStorageCapacities(capacityNamespace).List(ctx, metav1.ListOptions{LabelSelector: capacityLabel + "=" + localdriver.Name})
	if err != nil {
		return fmt.Errorf("ask for CSIStorageCapacities: %w", err)
	}
	wanted, errs := c.measured(ctx)
	for i := range have.Items {
		known := &have.Items[i]
		want, ok := wanted[known.Name]
		delete(wanted, known.Name)
		switch {
		case !ok:
			err = c.Client.StorageV1().CSIStorageCapacities(capacityNamespace).Delete(ctx, known.Name, metav1.DeleteOptions{})
		case want.Capacity == nil || known.Capacity != nil && want.Capacity.Cmp(*known.Capacity) == 0:
			continue // it could not be asked, or nothing is new
		default:
			known.Capacity = want.Capacity
			_, err = c.Client.StorageV1().CSIStorageCapacities(capacityNamespace).Update(ctx, known, metav1.UpdateOptions{})
		}
		errs = append(errs, reclaim.IgnoreMissing(err))
	}
	for _, want := range wanted {
		if want.Capacity == nil {
			continue
		}
		_, err := c.Client.StorageV1().CSIStorageCapacities(capacityNamespace).Create(ctx, want, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// room is how much may be claimed on a node, in bytes.
func (c *controller) room(ctx context.Context, node string) (int64, error) {
	driver, err := c.drivers.On(node)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	answer, err := driver.GetCapacity(ctx, &csi.GetCapacityRequest{})
	if err != nil {
		return 0, fmt.Errorf("ask node %s for its room: %w", node, shown(err))
	}
	return answer.GetAvailableCapacity(), nil
}

// measured are the capacities by their names. Those of nodes that can't be asked are nil.
func (c *controller) measured(ctx context.Context) (wanted map[string]*storagev1.CSIStorageCapacity, errs []error) {
	wanted = map[string]*storagev1.CSIStorageCapacity{}
	nodes, err := c.csiNodes.List(labels.Everything())
	errs = append(errs, err)
	classes, err := c.classes.List(labels.Everything())
	errs = append(errs, err)
	for _, n := range nodes {
		if !hasDriver(n) {
			continue
		}
		room, err := c.room(ctx, n.Name)
		errs = append(errs, err)
		for _, class := range classes {
			if class.Provisioner != localdriver.Name {
				continue
			}
			capacity := &storagev1.CSIStorageCapacity{
				ObjectMeta:       metav1.ObjectMeta{Name: class.Name + "." + n.Name, Namespace: capacityNamespace, Labels: map[string]string{capacityLabel: localdriver.Name}},
				NodeTopology:     &metav1.LabelSelector{MatchLabels: map[string]string{localdriver.TopologyKey: n.Name}},
				StorageClassName: class.Name,
			}
			if err == nil {
				capacity.Capacity = resource.NewQuantity(room, resource.BinarySI)
			}
			wanted[capacity.Name] = capacity
		}
	}
	return wanted, errs
}
