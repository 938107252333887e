// Package localvolume provides the volumes of the CSI driver local.csi.lifepod.dev, which
// each node of the cluster runs in its own process: the default StorageClass "local", and
// what external-provisioner, external-resizer and their capacity tracking do for drivers of
// others. A claim gets a volume on the node that the scheduler has chosen for its pod, or on
// the node of the snapshot or volume that it is a copy of; the scheduler knows how much room
// each node has (CSIStorageCapacity).
//
// One server of the cluster does this for all nodes: it calls the driver's controller service
// at the node's API, as the API server does for logs. IDs of volumes say which node that is.
//
// external-provisioner and external-resizer can't be linked into this program: both declare the
// feature gate VolumeAttributesClass otherwise than Kubernetes does, which panics at the start.
package localvolume
