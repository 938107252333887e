package volumes

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// API is what volumes need of an API server, beside Objects.
type API interface {
	// Token is a service account token bound to the pod.
	Token(ctx context.Context, pod *v1.Pod, projection *v1.ServiceAccountTokenProjection) (string, error)
	// TrustAnchors are the certificates of trust bundles, in PEM.
	TrustAnchors(ctx context.Context, projection *v1.ClusterTrustBundleProjection) ([]byte, error)
	// PodCertificate is the key and the certificate that a source of a projected volume
	// shows. A RefusedError is for good.
	PodCertificate(ctx context.Context, pod *v1.Pod, volume *v1.Volume, source int) (Credentials, error)
	// PersistentVolume is what the claim of a volume is bound to.
	PersistentVolume(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error)
	// Migrated is the CSI volume that serves a volume of a pod whose type has been handed over to
	// CSI drivers (A-CSI-14); nil: it is not of such a type.
	Migrated(pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error)
	// Reachable is nil if this node is one that the volume may be used on.
	Reachable(bound *v1.PersistentVolume) error
}

// Credentials are a key and the chain of its certificate, in PEM.
type Credentials struct{ Key, Chain []byte }

// RefusedError says why a pod does not get what it asks for, however long it waits.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

// MountError is the failure of one volume; its text is the message of the event
// FailedMount, or FailedMapVolume of a device (A-SYNC-8).
type MountError struct {
	Volume string // of a claim, the name of the volume that it is bound to
	Step   string // what failed; empty for MountVolume.SetUp failed
	Err    error
}

func (e *MountError) Error() string {
	step := e.Step
	if step == "" {
		step = "MountVolume.SetUp failed"
	}
	return fmt.Sprintf("%s for volume %q : %v", step, e.Volume, e.Err)
}

// Unwrap makes the cause available to errors.Is.
func (e *MountError) Unwrap() error { return e.Err }

// LimitError says that the node has as many volumes of a driver as it can (A-SYNC-8).
type LimitError struct {
	Volume string // in the pod
	Err    error
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[%s], unattached volumes=[%s], failed to process volumes=[]: %v", e.Volume, e.Volume, e.Err)
}

// Unwrap makes the cause available to errors.Is.
func (e *LimitError) Unwrap() error { return e.Err }

// ClaimError says why a claim has no volume yet. Its text is, like that of
// MountError, the message of the event FailedMount.
type ClaimError struct {
	Volume string // in the pod
	// Waits: nothing is wrong with the volume, but it can't be mounted yet.
	Waits bool
	Err   error
}

func (e *ClaimError) Error() string {
	unprocessed := e.Volume
	if e.Waits {
		unprocessed = ""
	}
	return fmt.Sprintf("Unable to attach or mount volumes: unmounted volumes=[%s], unattached volumes=[], failed to process volumes=[%s]: %v", e.Volume, unprocessed, e.Err)
}

// Unwrap makes the cause available to errors.Is.
func (e *ClaimError) Unwrap() error { return e.Err }
