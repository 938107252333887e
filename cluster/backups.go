package cluster

import (
	"context"

	"github.com/lifepod/lifepod/cluster/backup"
	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// runBackups makes the scheduled backups, if there are to be any.
func (r *run) runBackups(ctx context.Context) error {
	if r.Backup.Every == 0 {
		<-ctx.Done()
		return nil
	}
	schedule := r.Backup
	schedule.Log = r.Log
	if schedule.Dir == "" {
		schedule.Dir = rootfolder.Backups.In(r.Root)
	}
	return backup.Run(ctx, backup.Config{Endpoint: etcd.Endpoint(r.paths.RunDir), Data: r.file(""), Version: r.Version}, schedule)
}
