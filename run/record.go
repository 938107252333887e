package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/worker"
)

// record says on disk that a pod belongs to a lifepod that lives: its file is
// locked for as long as that process does. A record that nobody holds is that of an
// unattended pod. The pod itself is beside it.
type record struct {
	path    string
	file    *os.File  // nil: it was read without its lock
	written time.Time // when a record that was taken over was written

	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
	Endpoint  string    `json:"endpoint"` // of the runtime that has it
	PID       int       `json:"pid"`

	Ports []hostPort `json:"ports,omitempty"` // that it publishes

	Created metav1.Time `json:"created"` // the pod's creationTimestamp
	Digest  string      `json:"digest"`  // of its manifests

	// beside the record
	memory *worker.CheckpointFile
	shown  *shown
}

func recordsDir(root string) string { return rootfolder.Runs.In(root) }

// records are all records of a root, read without their locks, which others may be about
// to take. Of one that can't be read only the UID is known.
func records(root string) (list []*record, err error) {
	entries, err := os.ReadDir(recordsDir(root))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list the records of pods: %w", err)
	}
	for _, entry := range entries {
		if filepath.Ext(entry.Name()) != ".json" {
			continue
		}
		r := &record{}
		path := filepath.Join(recordsDir(root), entry.Name())
		if data, err := os.ReadFile(path); err != nil || json.Unmarshal(data, r) != nil {
			r = &record{}
		}
		r.path, r.UID = path, uidOf(path)
		list = append(list, r)
	}
	return list, nil
}

// newPrefix begins the names of files that are not complete.
const newPrefix = ".new-"

// newRecord makes the record of a pod before anything of the pod is made. It
// appears under its name only when it is locked and complete. Call it with the names
// locked.
func newRecord(runtime *host.Runtime, pod *v1.Pod, digest string) (*record, error) {
	dir := recordsDir(runtime.Root)
	if err := rootfolder.Ensure(dir, 0o700); err != nil {
		return nil, fmt.Errorf("record of the pod: %w", err)
	}
	file, err := os.CreateTemp(dir, newPrefix)
	if err != nil {
		return nil, fmt.Errorf("record of the pod: %w", err)
	}
	r := &record{
		path: filepath.Join(dir, string(pod.UID)+".json"), file: file,
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID,
		Endpoint: runtime.Endpoint, PID: os.Getpid(), Ports: hostPorts(pod),
		Created: pod.CreationTimestamp, Digest: digest,
		memory: worker.NewCheckpointFile(checkpointPath(dir, pod.UID)),
	}
	data, err := json.Marshal(r)
	if err == nil {
		err = savePod(dir, pod)
	}
	if err == nil {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err == nil {
		_, err = file.Write(data)
	}
	if err == nil {
		err = os.Rename(file.Name(), r.path)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		_ = file.Close()
		return nil, fmt.Errorf("record of the pod: %w", err)
	}
	r.shown = openShown(shownPath(dir, pod.UID))
	return r, nil
}

// remove ends the record; nothing of the pod is left.
func (r *record) remove() {
	if r.shown != nil {
		r.shown.close()
	}
	dir := filepath.Dir(r.path)
	_ = worker.NewCheckpointFile(checkpointPath(dir, r.UID)).Remove()
	_ = os.RemoveAll(shownPath(dir, r.UID))
	_ = os.RemoveAll(podPath(dir, r.UID))
	_ = os.Remove(r.path) // the last, by which the rest is found
	_ = r.file.Close()
}

// leave lets the record be, for the next lifepod.
func (r *record) leave() {
	if r.shown != nil {
		r.shown.close()
	}
	_ = r.file.Close()
}

// abandoned takes over a record whose lifepod has ended without removing it;
// nil if its lifepod lives, or if somebody else is at work on its pod.
func abandoned(path string) (*record, error) {
	file, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return abandonedFile(file, path)
}

// abandonedFile is abandoned for what was just opened at path.
func abandonedFile(file *os.File, path string) (*record, error) {
	r := &record{path: path, file: file}
	if unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil, file.Close()
	}
	info, err := os.Stat(path)
	if err != nil || !isFile(file, info) {
		// Before it was locked here it was removed, or taken over: then what the
		// path names is the record of a lifepod that lives.
		return nil, file.Close()
	}
	r.written = info.ModTime()
	if err := json.NewDecoder(file).Decode(r); err != nil {
		r.Name = "?" // a power failure has lost the content; the file's name is enough
	}
	r.UID = uidOf(path)
	return r, nil
}

// uidOf is the UID of the pod whose record has that path.
func uidOf(path string) types.UID { return types.UID(strings.TrimSuffix(filepath.Base(path), ".json")) }

func isFile(file *os.File, info os.FileInfo) bool {
	own, err := file.Stat()
	return err == nil && os.SameFile(own, info)
}
