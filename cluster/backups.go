package cluster

import (
	"context"
	"path/filepath"

	"github.com/lifepod/lifepod/cluster/backup"
	"github.com/lifepod/lifepod/cluster/etcd"
)

// runBackups makes the scheduled backups, if there are to be any.
func (l *layout) runBackups(ctx context.Context) error {
	if l.Backup.Every == 0 {
		<-ctx.Done()
		return nil
	}
	schedule := l.Backup
	schedule.Log = l.Log
	if schedule.Dir == "" {
		schedule.Dir = filepath.Join(l.Root, "backups")
	}
	return backup.Run(ctx, backup.Config{Endpoint: etcd.Endpoint(l.paths.RunDir), Data: l.file(""), Version: l.Version}, schedule)
}
