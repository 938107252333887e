package csi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// How long is waited for a volume to be attached before that is told, and how often is looked
// meanwhile if nothing says that something has changed (A-CSI-5).
const (
	attachPatience = time.Minute
	attachPause    = 2 * time.Second
)

// attachmentName is the name of the VolumeAttachment that the controller makes.
func attachmentName(k key, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(k.handle+k.driver+node)))
}

// awaitAttached returns what the attacher has said of the volume, once it is attached to the node;
// nil: the driver does not want that.
func (p *publishing) awaitAttached(ctx context.Context) (map[string]string, error) {
	if p.object != nil && p.object.Spec.AttachRequired != nil && !*p.object.Spec.AttachRequired {
		return nil, nil
	}
	name := attachmentName(p.want.key(), p.on.config.Node)
	patience := time.NewTimer(attachPatience)
	defer patience.Stop()
	for {
		changes := p.on.nodeChanges() // before it is looked
		attachment, err := p.on.config.Client.StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			if said, done, err := attached(attachment); done || err != nil {
				return said, err
			}
			err = fmt.Errorf("volume %v is not attached for volume attachment %v", p.want.handle, name)
		} else {
			// The controller may not have made it yet, and until it has, a node may not read it.
			wait := apierrors.IsNotFound(err) || apierrors.IsForbidden(err)
			err = fmt.Errorf("volume %v has GET error for volume attachment %v: %w", p.want.handle, name, err)
			if !wait {
				return nil, err
			}
		}
		pause := time.NewTimer(attachPause)
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-patience.C:
			return nil, err
		case <-changes:
		case <-pause.C:
		}
		pause.Stop()
	}
}

func attached(a *storagev1.VolumeAttachment) (said map[string]string, done bool, err error) {
	switch {
	case a.DeletionTimestamp != nil:
		return nil, false, errors.New("volume attachment is being deleted")
	case a.Status.Attached:
		return a.Status.AttachmentMetadata, true, nil
	case a.Status.AttachError != nil:
		return nil, false, errors.New(a.Status.AttachError.Message)
	}
	return nil, false, nil
}
