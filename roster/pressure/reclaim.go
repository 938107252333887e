package pressure

// Reclaims is what can be given back without ending a pod.
type Reclaims struct{ Containers, Images bool }

// Any says whether that is anything.
func (r Reclaims) Any() bool { return r.Containers || r.Images }

// ReclaimsFor says what may help a signal (B-EVI-6): dead containers and unused images,
// if they are on the file system that is short.
func ReclaimsFor(signal Signal, disks Disks) Reclaims {
	nodeFs, imageFs := false, false
	switch signal {
	case NodeFs, NodeFsInodes:
		nodeFs = true
	case ImageFs, ImageFsInodes:
		imageFs = true
	case ContainerFs, ContainerFsInodes:
		imageFs, nodeFs = disks.Images && !disks.Containers, !disks.Images || disks.Containers
	default:
		return Reclaims{}
	}
	switch {
	case !disks.Images: // one file system has it all
		return Reclaims{Containers: true, Images: true}
	case disks.Containers: // writable layers are with the pods, images apart
		return Reclaims{Containers: nodeFs, Images: imageFs}
	default: // images and writable layers are apart from the pods
		return Reclaims{Containers: imageFs, Images: imageFs}
	}
}
