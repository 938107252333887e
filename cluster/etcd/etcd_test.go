package etcd

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/storage/wal"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestMain(m *testing.M) {
	wal.SegmentSizeBytes = 1 << 20 // two of them are there from the start
	if dir := os.Getenv(writerDir); dir != "" {
		writer(dir)
	}
	os.Exit(m.Run())
}

// smallDisk is a file system with little space, and a folder for sockets beside it.
func smallDisk(t *testing.T) Config {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "lp") // its sockets' names are short
	assert.Must(t, err)
	data := filepath.Join(dir, "data")
	assert.Must(t, os.Mkdir(data, 0o700))
	assert.Must(t, unix.Mount("tmpfs", data, "tmpfs", 0, "size=32m"))
	t.Cleanup(func() {
		_ = unix.Unmount(data, unix.MNT_DETACH)
		_ = os.RemoveAll(dir)
	})
	return Config{Dir: filepath.Join(data, "etcd"), RunDir: dir, Log: slog.New(slog.DiscardHandler)}
}

func start(t *testing.T, c Config) (*Server, *clientv3.Client) {
	t.Helper()
	s := assert.Get(Start(t.Context(), c)).Must(t)
	assert.Must(t, s.AwaitReady(t.Context()))
	client := assert.Get(clientv3.New(clientv3.Config{Endpoints: []string{s.Endpoint()}})).Must(t)
	t.Cleanup(func() { _ = client.Close() })
	return s, client
}

// fill leaves that many bytes free on the disk.
func fill(t *testing.T, c Config, leave int64) (file string) {
	t.Helper()
	free := assert.Get(FreeSpace(c.Dir)).Must(t)
	file = filepath.Join(filepath.Dir(c.Dir), "other")
	f := assert.Get(os.Create(file)).Must(t)
	at := int64(0)
	for step := free - leave; step >= 4096; { // somebody may write at the same time
		if err := unix.Fallocate(int(f.Fd()), 0, at, min(step, free-leave-at)); err == nil {
			at += step
		} else {
			step /= 2
		}
		if at >= free-leave {
			break
		}
	}
	assert.Must(t, f.Close())
	return file
}

// While there is little space, writes are refused and everything else goes on; the
// cluster takes them again by itself.
func TestLittleSpace(t *testing.T) {
	c := smallDisk(t)
	c.low, c.enough = 4<<20, 8<<20
	s, client := start(t, c)
	defer s.Close()
	put := func() error { _, err := client.Put(t.Context(), "a", "1"); return err }
	check := func() {
		t.Helper()
		assert.Must(t, s.checkSpace())
	}
	check()
	assert.Must(t, put())
	other := fill(t, c, 3<<20)
	check()
	assert.ErrorIs(t, rpctypes.ErrNoSpace, put(), "put")
	h, err := Inspect(t.Context(), s.Endpoint(), c.Dir)
	assert.True(t, err == nil && len(h.Alarms) == 1 && strings.Contains(h.Alarms[0], "NOSPACE") && h.Free <= 4<<20 && h.Quota == quota,
		"%+v, %v, want the alarm, and the free space", h, err)
	r, err := client.Get(t.Context(), "a")
	assert.True(t, err == nil && len(r.Kvs) == 1, "get: %v, %v", r, err)
	assert.NoError(t, assert.ErrorOf(client.Delete(t.Context(), "a")), "delete")
	assert.Must(t, os.Remove(other))
	check()
	assert.NoError(t, put(), "put when there is space again")
}

// A database that has reached its quota takes writes again when what filled it is
// deleted and compacted; etcd itself would want somebody to defragment and disarm it.
func TestQuotaIsLeft(t *testing.T) {
	c := smallDisk(t)
	c.low, c.enough, c.quota = 1, 1, 4<<20
	s, client := start(t, c)
	defer s.Close()
	value := strings.Repeat("x", 256<<10)
	var err error
	for i := 0; err == nil && i < 100; i++ {
		_, err = client.Put(t.Context(), "big", value)
		s.embedded.Server.Backend().ForceCommit() // the quota is that of the file
	}
	assert.Require(t, errors.Is(err, rpctypes.ErrNoSpace), "put: %v, want %v", err, rpctypes.ErrNoSpace)
	r := assert.Get(client.Delete(t.Context(), "big")).Must(t)
	assert.Must(t, assert.ErrorOf(client.Compact(t.Context(), r.Header.Revision, clientv3.WithCompactPhysical())))
	for range 10 { // pages are free when the transactions after have ended
		s.embedded.Server.Backend().ForceCommit()
		assert.Must(t, s.checkSpace())
	}
	assert.NoError(t, assert.ErrorOf(client.Put(t.Context(), "a", "1")), "put")
}

// A disk without any space is told; what was acknowledged is there when there is
// space again. (etcd can't be stopped then: it runs in another process.)
func TestDiskFull(t *testing.T) {
	c := smallDisk(t)
	c.low, c.enough = 1, 1
	said := newWriter(t, c, "0", 100<<10)
	acknowledged, other, ended := []string{}, "", ""
	for said.Scan() {
		switch what, rest, _ := strings.Cut(said.Text(), " "); what {
		case "wrote":
			acknowledged = append(acknowledged, rest)
			if other == "" {
				other = fill(t, c, 0)
			}
		case "ended":
			ended = rest
		}
	}
	want := "etcd can't go on: the disk of " + c.Dir + " is full: "
	assert.True(t, strings.HasPrefix(ended, want), "it ended with %q, want %q", ended, want)
	assert.Must(t, os.Remove(other))
	s, client := start(t, c)
	defer s.Close()
	for _, key := range acknowledged {
		r, err := client.Get(t.Context(), key)
		assert.True(t, err == nil && len(r.Kvs) == 1, "%s was acknowledged and is lost: %v", key, err)
	}
	t.Logf("%d writes were acknowledged; %s", len(acknowledged), ended)
}
