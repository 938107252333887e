package backup

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/internal/assert"
)

// state is a running etcd on a data folder with keys.
type state struct {
	t      *testing.T
	data   string
	runDir string
	server *etcd.Server
	client *clientv3.Client
}

func newState(t *testing.T) *state {
	t.Helper()
	runDir, err := os.MkdirTemp("/tmp", "lp") // its sockets' names are short
	assert.Must(t, err)
	s := &state{t: t, data: filepath.Join(t.TempDir(), "cluster"), runDir: runDir}
	t.Cleanup(func() { s.stop(); _ = os.RemoveAll(runDir) })
	assert.Must(t, os.MkdirAll(filepath.Join(s.data, "pki"), 0o700))
	for _, name := range []string{"ca.crt", "ca.key", "service-account.key"} {
		assert.Must(t, os.WriteFile(filepath.Join(s.data, "pki", name), []byte("this is "+name), 0o600))
	}
	return s
}

func (s *state) start() {
	s.t.Helper()
	s.server = assert.Get(etcd.Start(s.t.Context(), etcd.Config{Dir: filepath.Join(s.data, "etcd"), RunDir: s.runDir, Log: slog.New(slog.DiscardHandler)})).Must(s.t)
	assert.Must(s.t, s.server.AwaitReady(s.t.Context()))
	s.client = assert.Get(clientv3.New(clientv3.Config{Endpoints: []string{s.server.Endpoint()}})).Must(s.t)
}

func (s *state) stop() {
	if s.server != nil {
		_ = s.client.Close()
		s.server.Close()
		s.server = nil
	}
}

// put returns the revision.
func (s *state) put(key, value string) int64 {
	s.t.Helper()
	r := assert.Get(s.client.Put(s.t.Context(), key, value)).Must(s.t)
	return r.Header.Revision
}

func (s *state) all() map[string]string {
	s.t.Helper()
	r := assert.Get(s.client.Get(s.t.Context(), "", clientv3.WithPrefix())).Must(s.t)
	all := map[string]string{}
	for _, kv := range r.Kvs {
		all[string(kv.Key)] = string(kv.Value)
	}
	return all
}

func (s *state) config() Config {
	return Config{Endpoint: s.server.Endpoint(), Data: s.data, Version: "v1"}
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries := assert.Get(os.ReadDir(dir)).Must(t)
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestBackupBecomesTheClusterAgain(t *testing.T) {
	s := newState(t)
	s.start()
	s.put("a", "1")
	then := s.put("b", "2")
	file := filepath.Join(t.TempDir(), "x")
	m := assert.Get(Save(t.Context(), s.config(), file)).Must(t)
	assert.True(t, m.Revision == then && m.Version == "v1" && len(m.Files) == 4, "manifest %+v, want revision %d and four files", m, then)
	info, err := os.Stat(file)
	assert.True(t, err == nil && info.Mode() == 0o600, "file: %v, %v, want mode 0600", info, err)
	assert.Deep(t, "beside the backup", []string{"x"}, names(t, filepath.Dir(file)))
	later := s.put("a", "lost")
	s.stop()

	assert.ErrorContains(t, "has a cluster already: with --force", assert.ErrorOf(Restore(file, s.data, false)), "without force")
	elsewhere := filepath.Join(t.TempDir(), "cluster")
	release, err := Hold(elsewhere) // as the command does
	assert.Must(t, err)
	release()
	if r, err := Restore(file, elsewhere, false); err != nil || r.Kept != "" {
		t.Errorf("in a new folder: %+v, %v", r, err)
	}
	r := assert.Get(Restore(file, s.data, true)).Must(t)
	text, err := os.ReadFile(filepath.Join(s.data, "pki", "ca.key"))
	assert.True(t, err == nil && string(text) == "this is ca.key", "key %q, %v", text, err)
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(r.Kept, "etcd", "member"))), "what was there")
	s.start()
	assert.Deep(t, "keys", map[string]string{"a": "1", "b": "2"}, s.all())
	// Who has seen what is lost is told that it is too old, and lists again.
	watched := <-s.client.Watch(t.Context(), "a", clientv3.WithRev(later))
	assert.True(t, errors.Is(watched.Err(), rpctypes.ErrCompacted),
		"watch from revision %d: %v, want %v", later, watched.Err(), rpctypes.ErrCompacted)
	next := s.put("c", "3")
	assert.True(t, next > later, "the next revision is %d, want it above %d", next, later)
}

// A backup that is damaged anywhere is refused before anything is touched.
func TestDamagedBackupIsRefused(t *testing.T) {
	s := newState(t)
	s.start()
	s.put("a", "1")
	file := filepath.Join(t.TempDir(), "x")
	assert.Must(t, assert.ErrorOf(Save(t.Context(), s.config(), file)))
	s.stop()
	good := assert.Get(os.ReadFile(file)).Must(t)
	before := names(t, filepath.Dir(s.data))
	for name, text := range map[string][]byte{
		"empty":      nil,
		"cut off":    good[:len(good)-1],
		"half":       good[:len(good)/2],
		"other":      []byte("apiVersion: v1"),
		"first byte": append([]byte{good[0] + 1}, good[1:]...),
		"middle":     bytes.Join([][]byte{good[:len(good)/2], {good[len(good)/2] ^ 1}, good[len(good)/2+1:]}, nil),
		"last byte":  append(bytes.Clone(good[:len(good)-1]), good[len(good)-1]^1),
	} {
		assert.Must(t, os.WriteFile(file, text, 0o600))
		_, err := Restore(file, s.data, true)
		assert.True(t, err != nil, "%s: restored", name)
		diff := cmp.Diff(before, names(t, filepath.Dir(s.data)))
		assert.Require(t, diff == "", "%s: beside the data (-want +got):\n%s", name, diff)
	}
}

func TestHoldIsForOne(t *testing.T) {
	data := filepath.Join(t.TempDir(), "cluster")
	release := assert.Get(Hold(data)).Must(t)
	assert.ErrorIs(t, ErrRunning, assert.ErrorOf(Hold(data)), "second")
	release()
	release = assert.Get(Hold(data)).Must(t)
	release()
}

func TestScheduleKeepsTheNewest(t *testing.T) {
	s := newState(t)
	s.start()
	dir := filepath.Join(t.TempDir(), "backups")
	schedule := Schedule{Every: time.Hour, Keep: 2, Dir: dir, Log: slog.New(slog.DiscardHandler)}
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Deep(t, "the first is due after", time.Duration(0), schedule.wait(now))
	for i := range 3 {
		if i == 2 {
			assert.Must(t, os.WriteFile(filepath.Join(dir, "lifepod-notes.txt"), nil, 0o600))
		}
		assert.Must(t, schedule.once(t.Context(), s.config(), now.Add(time.Duration(i)*time.Hour)))
	}
	want := []string{"lifepod-20300101-010000.tar.zst", "lifepod-20300101-020000.tar.zst", "lifepod-notes.txt"}
	assert.Deep(t, "files", want, names(t, dir))
	assert.Deep(t, "the next is due after", 59*time.Minute, schedule.wait(now.Add(2*time.Hour+time.Minute)))
}

// What a backup could not finish is gone, and says why.
func TestFailedBackupLeavesNothing(t *testing.T) {
	s := newState(t)
	s.start()
	dir := t.TempDir()
	c := s.config()
	c.Data = filepath.Join(dir, "absent")
	assert.ErrorContains(t, "files of the cluster", assert.ErrorOf(Save(t.Context(), c, filepath.Join(dir, "x"))))
	assert.Empty(t, names(t, dir), "left")
}
