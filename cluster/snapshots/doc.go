// Package snapshots gives a cluster VolumeSnapshots: their custom resources, the snapshot
// controller that every driver needs one of in a cluster, and what takes snapshots of the
// volumes of local.csi.lifepod.dev. All but the last is external-snapshotter's, in this process.
//
// external-snapshotter is 8.5: newer ones ask for a newer gRPC than the rest. Groups
// of snapshots (VolumeGroupSnapshot), which are beta there, are left out.
package snapshots
