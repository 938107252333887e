package lifecycle

import "strings"

const failedMount = "FailedMount"

// VolumesFound says that it is known what the pod's persistentVolumeClaims are bound to, and
// thus which groups their volumes name, while the MountVolumes of that ID goes on.
type VolumesFound struct{ ID EffectID }

func (VolumesFound) isFact() {}

// reasonOf is the reason of the event of a failure: a volume that is a device has one of its own
// (A-SYNC-8).
func reasonOf(usual, message string) string {
	if usual == failedMount && strings.HasPrefix(message, "MapVolume.") {
		return "FailedMapVolume"
	}
	return usual
}

// AttachLimit is the reason of a failure to mount volumes that waiting does not end: the node has
// as many volumes of a driver as it can (A-SYNC-8).
const AttachLimit = "VolumeAttachmentLimitExceeded"

// applyVolumesMounted ends a pod whose volumes can't be attached to this node: there may be room
// for them on another one.
func applyVolumesMounted(s *step, f VolumesMounted) {
	if f.Failure == nil || f.Failure.Reason != AttachLimit || s.kept.Stage != Syncing {
		applySetup(s, &s.setup.volumes, f.Result, failedMount, "")
		return
	}
	if !s.finish(&s.setup.volumes, f.Result) {
		return
	}
	s.do(RecordEvent{Type: warning, Reason: AttachLimit, Message: f.Failure.Message})
	terminate(s, stop{Cause: Unattachable, Reason: AttachLimit, Message: "Pod was rejected: " + f.Failure.Message}, s.specGrace(),
		Report{Kind: KindEnds, Because: Because{Text: f.Failure.Message}, Rule: "A-SYNC-8"})
}
