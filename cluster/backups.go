package cluster

import (
	"context"
	"path/filepath"

	"github.com/lifepod/lifepod/cluster/backup"
	"github.com/lifepod/lifepod/cluster/etcd"
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
		schedule.Dir = filepath.Join(r.Root, "backups")
	}
	return backup.Run(ctx, backup.Config{Endpoint: etcd.Endpoint(r.paths.RunDir), Data: r.file(""), Version: r.Version}, schedule)
}
