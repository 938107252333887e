package lifecycle

// withImages: a container is created with the images of exactly the image volumes
// that it mounts (A-IMG-10).
func (l *invariants) withImages(w *walk, e CreateContainer) {
	mounts := len(w.m.containerNamed(e.Container).spec.VolumeMounts) // of the one volume that random pods have
	if len(e.Volumes) != mounts {
		l.t.Fatalf("%s is created with %d images for %d mounts", e.Container, len(e.Volumes), mounts)
	}
	for _, v := range e.Volumes {
		if v.Image.ID == "" {
			l.t.Fatalf("%s is created without the image of volume %s", e.Container, v.Volume)
		}
	}
}
