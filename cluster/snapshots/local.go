package snapshots

import (
	"context"
	"fmt"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"

	"github.com/lifepod/lifepod/cluster/localvolume"
	"github.com/lifepod/lifepod/node/localdriver"
)

// taker takes snapshots of local volumes, on the node that has them. It is external-snapshotter's
// Snapshotter.
type taker struct{ nodes *localvolume.Nodes }

func (t taker) CreateSnapshot(ctx context.Context, name, volume string, parameters, _ map[string]string) (driver, id string, created time.Time, bytes int64, ready bool, err error) {
	node, err := t.nodes.Holding(volume)
	if err != nil {
		return "", "", time.Time{}, 0, false, err
	}
	answer, err := node.CreateSnapshot(ctx, &csi.CreateSnapshotRequest{SourceVolumeId: volume, Name: name, Parameters: parameters})
	if err != nil {
		return "", "", time.Time{}, 0, false, err
	}
	s := answer.GetSnapshot()
	return localdriver.Name, s.GetSnapshotId(), s.GetCreationTime().AsTime(), s.GetSizeBytes(), s.GetReadyToUse(), nil
}

func (t taker) DeleteSnapshot(ctx context.Context, id string, _ map[string]string) error {
	node, err := t.nodes.Holding(id)
	if err != nil {
		return err
	}
	_, err = node.DeleteSnapshot(ctx, &csi.DeleteSnapshotRequest{SnapshotId: id})
	return err
}

func (t taker) GetSnapshotStatus(ctx context.Context, id string, _ map[string]string) (ready bool, created time.Time, bytes int64, group string, err error) {
	node, err := t.nodes.Holding(id)
	if err != nil {
		return false, time.Time{}, 0, "", err
	}
	answer, err := node.ListSnapshots(ctx, &csi.ListSnapshotsRequest{SnapshotId: id})
	if err != nil {
		return false, time.Time{}, 0, "", err
	}
	if len(answer.GetEntries()) == 0 {
		return false, time.Time{}, 0, "", fmt.Errorf("there is no snapshot %q", id)
	}
	s := answer.GetEntries()[0].GetSnapshot()
	return s.GetReadyToUse(), s.GetCreationTime().AsTime(), s.GetSizeBytes(), "", nil
}
