package localvolume

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/lifepod/lifepod/node/localdriver"
)

// An orphan is a volume of the driver that was made for a claim, which was deleted before there
// was a PersistentVolume: this process was killed in between, or the call had no answer. Nothing
// in the API names it, so that nothing else deletes it.
//
// A volume is only deleted as one if no node was ever to mount it, so that there is nothing of a
// pod in it; if the API server, asked for it, has neither a PersistentVolume of it nor the claim;
// and if that was so for a while: a PersistentVolume may be on its way.
const orphanAfter = 30 * time.Second

// lookAgain is when volumes are looked at again: soon after the start, and while there is one that may
// be an orphan, then more and more seldom.
var lookAgain = wait.Backoff{Duration: 10 * time.Second, Factor: 2, Steps: 10, Cap: 5 * time.Minute}

type orphans struct {
	controller *controller
	since      map[string]time.Time // when volumes of the driver, by their IDs, were seen to be some
}

func (o *orphans) run(ctx context.Context) {
	for again := lookAgain; ctx.Err() == nil; {
		if o.look(ctx, time.Now()); len(o.since) > 0 {
			again = lookAgain
		}
		select {
		case <-ctx.Done():
		case <-time.After(again.Step()):
		}
	}
}

// look deletes those that were seen long enough ago.
func (o *orphans) look(ctx context.Context, now time.Time) {
	seen := map[string]time.Time{}
	for _, id := range o.unused(ctx) {
		if !o.controller.seemsOrphan(id) {
			continue
		}
		since, before := o.since[id]
		if !before {
			since = now
		}
		seen[id] = since
		if now.Sub(since) < orphanAfter {
			continue
		}
		if err := o.delete(ctx, id); err != nil && ctx.Err() == nil {
			o.controller.Log.Warn("can't delete a local volume of a claim that has gone", "volume", id, "err", shown(err))
		}
	}
	o.since = seen
}

// unused is the IDs of volumes that were made for claims, and that no pod had yet. A node that
// does not answer has none for now.
func (o *orphans) unused(ctx context.Context) (ids []string) {
	nodes, err := o.controller.csiNodes.List(labels.Everything())
	if err != nil {
		return nil
	}
	for _, n := range nodes {
		if !hasDriver(n) {
			continue
		}
		volumes, err := o.controller.volumesOn(ctx, n.Name)
		if err != nil {
			continue
		}
		for _, entry := range volumes.GetEntries() {
			v := entry.GetVolume()
			if _, claimed := claimOf(v.GetVolumeId()); claimed && localdriver.Unused(v) {
				ids = append(ids, v.GetVolumeId())
			}
		}
	}
	return ids
}

func (c *controller) volumesOn(ctx context.Context, node string) (*csi.ListVolumesResponse, error) {
	driver, err := c.drivers.On(node)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, shortCall)
	defer cancel()
	return driver.ListVolumes(ctx, &csi.ListVolumesRequest{})
}

// volumePrefix begins the names of PersistentVolumes, and of the driver's volumes; the UID of the
// claim follows.
const volumePrefix = "pvc-"

// claimOf is the UID of the claim that a volume of the driver was made for.
func claimOf(id string) (uid types.UID, claimed bool) {
	_, name, _ := strings.Cut(id, ":")
	text, claimed := strings.CutPrefix(name, volumePrefix)
	return types.UID(text), claimed
}

// seemsOrphan says whether a volume of the driver is an orphan as far as the informers know.
func (c *controller) seemsOrphan(id string) bool {
	claims, err := c.claims.List(labels.Everything())
	if err != nil {
		return false
	}
	volumes, err := c.volumes.List(labels.Everything())
	return err == nil && orphan(id, claims, volumes)
}

// orphan says whether neither a PersistentVolume has a volume of the driver nor a claim waits for
// it. A claim that has its volume on another node waits no more.
func orphan(id string, claims []*v1.PersistentVolumeClaim, volumes []*v1.PersistentVolume) bool {
	uid, _ := claimOf(id)
	elsewhere := false
	for _, v := range volumes {
		switch {
		case made(v) && v.Spec.CSI.VolumeHandle == id:
			return false
		case v.Name == volumePrefix+string(uid):
			elsewhere = true
		}
	}
	for _, claim := range claims {
		if claim.UID == uid {
			return elsewhere
		}
	}
	return true
}

// delete asks the API server before it deletes a volume of the driver, while nobody makes a
// PersistentVolume of it here.
func (o *orphans) delete(ctx context.Context, id string) error {
	c := o.controller
	uid, _ := claimOf(id)
	end, err := c.making.begin(volumePrefix + string(uid))
	if err != nil {
		return err
	}
	defer end()
	claims, err := c.Client.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("ask for claims: %w", err)
	}
	volumes, err := c.Client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("ask for volumes: %w", err)
	}
	if !orphan(id, pointers(claims.Items), pointers(volumes.Items)) {
		return nil
	}
	if err := c.deleteVolume(ctx, id); err != nil {
		return err
	}
	c.Log.Info("deleted a local volume that was made for a claim which has gone", "volume", id)
	c.measure.Send()
	return nil
}

func pointers[T any](list []T) (all []*T) {
	for i := range list {
		all = append(all, &list[i])
	}
	return all
}
