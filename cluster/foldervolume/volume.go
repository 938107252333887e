package foldervolume

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/cluster/reclaim"
)

// here says whether a volume was made by us, on this node.
func (c *controller) here(volume *v1.PersistentVolume) bool {
	affinity := volume.Spec.NodeAffinity
	if volume.Annotations[reclaim.ProvisionedBy] != localvolume.Folders || volume.Spec.ClaimRef == nil || affinity == nil || affinity.Required == nil {
		return false
	}
	terms := affinity.Required.NodeSelectorTerms
	return len(terms) == 1 && len(terms[0].MatchExpressions) == 1 && terms[0].MatchExpressions[0].Key == v1.LabelHostname &&
		slices.Equal(terms[0].MatchExpressions[0].Values, []string{c.Node})
}

// sync deletes a volume that nobody claims any more, and its folder.
func (c *controller) sync(ctx context.Context, name string) error {
	volume, err := c.volumes.Get(name)
	if err != nil || !c.here(volume) {
		return reclaim.IgnoreMissing(err)
	}
	return reclaim.Sync(ctx, c.Client, volume, func(context.Context) error {
		err := deleteFolder(c.Dir, volume)
		if err != nil {
			c.recorder.Event(volume, v1.EventTypeWarning, "VolumeFailedDelete", err.Error())
		}
		return err
	})
}
