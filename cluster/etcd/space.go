package etcd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"golang.org/x/sys/unix"
)

// Space in the file system of the data, in bytes. etcd can't go on without any, so
// that a cluster is made read-only (alarm NOSPACE) before.
const (
	lowSpace    = 64 << 20 // below, writes are refused
	enoughSpace = 96 << 20 // from here on, they are taken again
)

// spaceCheck is how often the free space is looked at: no file system tells.
const spaceCheck = 2 * time.Second

// Health is what there is to know of a running etcd.
type Health struct {
	Alarms []string // such as "alarm:NOSPACE": writes are refused
	Bytes  int64    // of the database file
	InUse  int64    // of these; the rest is for later writes
	Quota  int64    // the most that the file may have
	Free   int64    // in the file system
}

// Inspect asks the etcd at an endpoint, whose data is in dir.
func Inspect(ctx context.Context, endpoint, dir string) (h Health, err error) {
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: spaceCheck})
	if err != nil {
		return h, fmt.Errorf("ask etcd: %w", err)
	}
	defer func() { _ = client.Close() }()
	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return h, fmt.Errorf("ask etcd: %w", err)
	}
	free, err := FreeSpace(dir)
	return Health{Alarms: status.Errors, Bytes: status.DbSize, InUse: status.DbSizeInUse, Quota: status.DbSizeQuota, Free: free}, err
}

// FreeSpace says how many bytes may be written yet in a folder.
func FreeSpace(dir string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", dir, err)
	}
	return int64(stat.Bavail) * stat.Bsize, nil
}

// awaitSpace returns when there is room to start in. It logs what it waits for.
func (c Config) awaitSpace(ctx context.Context) error {
	ticker := time.NewTicker(spaceCheck)
	defer ticker.Stop()
	for logged := false; ; logged = true {
		free, err := FreeSpace(c.Dir)
		if err != nil || free >= c.low {
			return err
		}
		if !logged {
			c.Log.Error("the disk is full: etcd waits for space", "folder", c.Dir, "freeMiB", free>>20, "wantMiB", c.low>>20)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the disk is full: %s has %d MiB free, at least %d are needed", c.Dir, free>>20, c.low>>20)
		case <-ticker.C:
		}
	}
}

// guard refuses writes while there is little space, until the server stops.
func (s *Server) guard() {
	defer close(s.guarded)
	select {
	case <-s.ended:
		return
	case <-s.embedded.Server.ReadyNotify():
	}
	ticker := time.NewTicker(spaceCheck)
	defer ticker.Stop()
	for {
		if s.broken.Load() {
			return // it answers nothing any more
		}
		if err := s.checkSpace(); err != nil {
			s.config.Log.Warn("etcd: can't tell the free space on disk", "err", err)
		}
		select {
		case <-s.ended:
			return
		case <-ticker.C:
		}
	}
}

func (s *Server) checkSpace() error {
	free, err := FreeSpace(s.config.Dir)
	if err != nil {
		return err
	}
	backend, alarmed := s.embedded.Server.Backend(), s.alarmed()
	inUse, size := backend.SizeInUse(), backend.Size()
	switch {
	case !alarmed && free < s.config.low:
		s.config.Log.Error("the disk is nearly full: the cluster takes no more writes until there is space",
			"folder", s.config.Dir, "freeMiB", free>>20, "wantMiB", s.config.enough>>20)
		return s.alarm(etcdserverpb.AlarmRequest_ACTIVATE)
	case !alarmed || free < s.config.enough || inUse > s.config.quota/5*4:
		return nil
	case size > s.config.quota/10*9: // compacted, but the file is as large as ever
		if free < inUse {
			return errors.New("the database is larger than its quota, and there is no space to write it anew")
		}
		if err := backend.Defrag(); err != nil {
			return fmt.Errorf("defragment: %w", err)
		}
	}
	if err := s.alarm(etcdserverpb.AlarmRequest_DEACTIVATE); err != nil {
		return err
	}
	s.config.Log.Info("there is space again: the cluster takes writes", "folder", s.config.Dir, "freeMiB", free>>20)
	return nil
}

func (s *Server) alarmed() bool {
	for _, a := range s.embedded.Server.Alarms() {
		if a.Alarm == etcdserverpb.AlarmType_NOSPACE {
			return true
		}
	}
	return false
}

func (s *Server) alarm(action etcdserverpb.AlarmRequest_AlarmAction) error {
	ctx, cancel := context.WithTimeout(context.Background(), spaceCheck)
	defer cancel()
	member := uint64(s.embedded.Server.MemberID())
	if _, err := s.embedded.Server.Alarm(ctx, &etcdserverpb.AlarmRequest{MemberID: member, Action: action, Alarm: etcdserverpb.AlarmType_NOSPACE}); err != nil {
		return fmt.Errorf("%s alarm NOSPACE: %w", action, err)
	}
	return nil
}
