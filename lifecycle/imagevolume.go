package lifecycle

import v1 "k8s.io/api/core/v1"

// imageVolume is a volume with the files of an image (KEP-4639). Its image is fetched by
// the rules of container images, for the containers that mount it, and only when one of
// them is about to start (A-IMG-10). The runtime mounts it.
type imageVolume struct {
	// immutable
	name      string
	reference string
	policy    v1.PullPolicy

	Image image
}

// VolumeImage is the image of a volume, for the container that mounts it.
type VolumeImage struct {
	Volume    string
	Reference string // as written
	Image     ImageInfo
}

func newImageVolumes(pod *v1.Pod) []*imageVolume {
	var list []*imageVolume
	for i := range pod.Spec.Volumes {
		if source := pod.Spec.Volumes[i].Image; source != nil {
			list = append(list, &imageVolume{name: pod.Spec.Volumes[i].Name, reference: source.Reference, policy: source.PullPolicy})
		}
	}
	return list
}

// fetch is of no container: its events are the pod's.
func (v *imageVolume) fetch() fetch {
	return fetch{image: &v.Image, reference: v.reference, policy: v.policy, volume: v.name}
}

// imageVolumesOf lists the image volumes that the container mounts, in the order of its
// mounts.
func (m *Machine) imageVolumesOf(c *container) []*imageVolume {
	var list []*imageVolume
	for _, mount := range c.spec.VolumeMounts {
		for _, v := range m.imageVolumes {
			if v.name == mount.Name {
				list = append(list, v)
			}
		}
	}
	return list
}

// ensureImages takes the next step towards the images of the container and its volumes,
// and reports whether all are present.
func ensureImages(s *step, c *container) bool {
	ready := ensureImage(s, c.fetch())
	for _, v := range s.imageVolumesOf(c) {
		ready = ensureImage(s, v.fetch()) && ready
	}
	return ready
}

// refusedImage is why the container's image, or that of one of its volumes, is not
// present. Each container that mounts the volume gets an event when that reason changes
// (A-IMG-10); the attempts themselves are events of the pod.
func refusedImage(s *step, c *container) *Failure {
	for _, v := range s.imageVolumesOf(c) {
		refused := v.Image.Refused
		if refused == nil {
			continue
		}
		if c.Failure == nil || c.Failure.Reason != refused.Reason || c.Failure.Message != refused.Message {
			s.do(RecordEvent{Type: warning, Reason: "Failed", Message: "Error: " + refused.Reason, FieldPath: c.fieldPath()})
			tell(s, Report{Subject: c.spec.Name, Kind: "volume-image", On: v.name, Because: Because{Text: refused.Reason}, Rule: "A-IMG-10", Again: true})
		}
		return refused
	}
	return c.Image.Refused
}

// askImagesAnew makes the container's next start ask for the images of its volumes again,
// as for its own (A-IMG-2); containers that start at the same time share the answer.
func askImagesAnew(s *step, c *container) {
	for _, v := range s.imageVolumesOf(c) {
		if v.Image.Present {
			v.Image = image{Info: v.Image.Info}
		}
	}
}

// volumeImages are those that a container is created with.
func volumeImages(s *step, c *container) []VolumeImage {
	var list []VolumeImage
	for _, v := range s.imageVolumesOf(c) {
		list = append(list, VolumeImage{Volume: v.name, Reference: v.reference, Image: v.Image.Info})
	}
	return list
}
