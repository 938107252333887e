// Package snapshots gives a cluster VolumeSnapshots: their custom resources, the snapshot
// controller that every driver needs one of in a cluster, and what takes snapshots of the
// volumes of local.csi.lifepod.dev. All but the last is external-snapshotter's, in this process.
//
// external-snapshotter 8.5 is the newest that goes with the libraries of Kubernetes 1.36. Groups
// of snapshots (VolumeGroupSnapshot), which are beta there, are left out.
package snapshots
