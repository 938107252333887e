package pressure

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Signal is something that may run short (B-EVI-1).
type Signal string

// The signals of Kubernetes.
const (
	Memory            Signal = "memory.available"            // the machine's, without its working set
	AllocatableMemory Signal = "allocatableMemory.available" // of what all pods together may use
	NodeFs            Signal = "nodefs.available"            // where pods and logs are
	NodeFsInodes      Signal = "nodefs.inodesFree"
	ImageFs           Signal = "imagefs.available" // where images are
	ImageFsInodes     Signal = "imagefs.inodesFree"
	ContainerFs       Signal = "containerfs.available" // where writable layers are
	ContainerFsInodes Signal = "containerfs.inodesFree"
	PIDs              Signal = "pid.available"
)

// Resources that are no resource of pods.
const (
	Inodes       v1.ResourceName = "inodes"
	ProcessCount v1.ResourceName = "pids"
)

// signals are in the order in which thresholds act: memory comes first (B-EVI-4).
var signals = []Signal{Memory, AllocatableMemory, NodeFs, NodeFsInodes, ImageFs, ImageFsInodes, ContainerFs, ContainerFsInodes, PIDs}

// Resource is what there is too little of.
func (s Signal) Resource() v1.ResourceName {
	switch s {
	case Memory, AllocatableMemory:
		return v1.ResourceMemory
	case NodeFsInodes, ImageFsInodes, ContainerFsInodes:
		return Inodes
	case PIDs:
		return ProcessCount
	default:
		return v1.ResourceEphemeralStorage
	}
}

// Condition is what the Node has while the signal is short (B-EVI-5).
func (s Signal) Condition() v1.NodeConditionType {
	switch s.Resource() {
	case v1.ResourceMemory:
		return v1.NodeMemoryPressure
	case ProcessCount:
		return v1.NodePIDPressure
	default:
		return v1.NodeDiskPressure
	}
}

// Observation is what was measured for one signal, in bytes or pieces.
type Observation struct {
	Available, Capacity int64
	At                  time.Time
}

// Observations are what was measured. A signal without one can't be short.
type Observations map[Signal]Observation

// quantity is an amount as Kubernetes writes it.
func (s Signal) quantity(amount int64) *resource.Quantity {
	format := resource.BinarySI
	if r := s.Resource(); r == Inodes || r == ProcessCount {
		format = resource.DecimalSI
	}
	return resource.NewQuantity(amount, format)
}

// Disks say which of the node's file systems are separate ones.
type Disks struct {
	Images     bool // images are not on the file system of pods and logs
	Containers bool // writable layers are not where images are
}

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
