package csi

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc/codes"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/worker/volumes"
)

// How long is waited for a volume to be attached before that is reported, and how often is looked at
// its VolumeAttachment meanwhile (A-CSI-5).
const (
	attachPatience = time.Minute
	attachPause    = 2 * time.Second
)

// attachmentName is the name of the VolumeAttachment that the controller makes.
func attachmentName(k key, node string) string {
	return fmt.Sprintf("csi-%x", sha256.Sum256([]byte(k.handle+k.driver+node)))
}

// attaches says whether a controller attaches the volumes of a driver.
func attaches(object *storagev1.CSIDriver) bool {
	return object == nil || object.Spec.AttachRequired == nil || *object.Spec.AttachRequired
}

// counts says whether the driver is asked how many volumes the node can have.
func counts(object *storagev1.CSIDriver) bool {
	return object != nil && ptr.Deref(object.Spec.NodeAllocatableUpdatePeriodSeconds, 0) > 0
}

// attaching is a volume that a pod waits for until it is attached.
type attaching struct {
	on     *Volumes
	volume key
	pod    podVolume
	has    bool // the pod has the volume: it is attached
	// counts: the driver is to be asked again how many volumes the node can have.
	counts   bool
	patience time.Duration
}

// errExhausted: the node can't have more volumes of the driver.
type errExhausted struct{ message string }

func (e errExhausted) Error() string { return e.message }

// await returns what the attacher has said of the volume, once it is attached to the node and
// stays so while it is in use; or nothing, once its CSIDriver says that nobody attaches it.
func (a attaching) await(ctx context.Context) (map[string]string, error) {
	if !a.has {
		a.on.inUse.await(a.pod, a.volume)
	}
	patience, look := time.NewTimer(a.patience), time.NewTicker(attachPause)
	defer patience.Stop()
	defer look.Stop()
	for attaches(a.on.config.Drivers.Known(a.volume.driver)) {
		why, changes := a.on.inUse.attached(a.volume)
		if a.has || why == "" {
			if said, done, err := a.look(ctx); done || err != nil && !a.mayEnd(err) {
				return said, err
			}
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-changes:
			continue
		case <-patience.C:
			return nil, a.exceeds(ctx, a.missing(ctx, why))
		case <-look.C:
		}
		if _, _, err := a.look(ctx); err != nil && !a.mayEnd(err) {
			return nil, err
		}
	}
	return nil, nil
}

// mayEnd says whether a failure to attach ends when another volume is detached.
func (a attaching) mayEnd(err error) bool {
	_, exhausted := errors.AsType[errExhausted](err)
	return exhausted && a.counts
}

// exceeds has the CSINode say how many volumes the node can have, if it has as many: the pod has to
// go elsewhere (A-SYNC-8, A-CSI-2).
func (a attaching) exceeds(ctx context.Context, err error) error {
	if !a.mayEnd(err) {
		return err
	}
	if err := a.on.config.Drivers.Recount(ctx, a.volume.driver); err != nil {
		a.on.config.Log.WarnContext(ctx, "ask a CSI driver how many volumes the node may have", "driver", a.volume.driver, "err", err)
	}
	return &volumes.LimitError{Err: err}
}

// look asks for the VolumeAttachment. The controller may not have made it yet, and until it has, a
// node may not read it.
func (a attaching) look(ctx context.Context) (said map[string]string, done bool, err error) {
	attachment, err := a.attachment(ctx)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return attached(attachment)
}

func (a attaching) attachment(ctx context.Context) (*storagev1.VolumeAttachment, error) {
	name := attachmentName(a.volume, a.on.config.Node)
	attachment, err := a.on.config.Client.StorageV1().VolumeAttachments().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("volume %v has GET error for volume attachment %v: %w", a.volume.handle, name, err)
	}
	return attachment, nil
}

// missing is why the volume is not attached for so long; why is what the Node says.
func (a attaching) missing(ctx context.Context, why string) error {
	attachment, err := a.attachment(ctx)
	if err != nil {
		return err
	}
	_, done, err := attached(attachment)
	switch {
	case err != nil:
		return err
	case done && why != "":
		return errors.New(why)
	}
	return fmt.Errorf("volume %v is not attached for volume attachment %v", a.volume.handle, attachment.Name)
}

func attached(a *storagev1.VolumeAttachment) (said map[string]string, done bool, err error) {
	switch {
	case a.DeletionTimestamp != nil:
		return nil, false, errors.New("volume attachment is being deleted")
	case a.Status.Attached:
		return a.Status.AttachmentMetadata, true, nil
	case a.Status.AttachError != nil:
		failed := a.Status.AttachError
		if failed.ErrorCode != nil && codes.Code(*failed.ErrorCode) == codes.ResourceExhausted {
			return nil, false, errExhausted{failed.Message}
		}
		return nil, false, errors.New(failed.Message)
	}
	return nil, false, nil
}
