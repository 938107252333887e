package run

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/manifest"
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

// digestOf is the same for two sets of manifests of the same pod: of its name and
// its spec, the ports of -p included, and of what a RuntimeClass adds. All else
// may change while a pod runs (A-VOL-5). A record keeps it instead of the
// manifests: it is short, and can't have anything in it that is secret.
func digestOf(set *manifest.Set) (string, error) {
	content := struct {
		Namespace, Name string
		Spec            v1.PodSpec
		Handlers        []string
	}{set.Pod.Namespace, givenName(set.Pod), set.Pod.Spec, handlers(set.RuntimeClasses)}
	data, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("compare manifests: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(data)), nil
}

// givenName is the pod's name, or what it was generated from.
func givenName(pod *v1.Pod) string {
	const randomLength = 5
	if base := pod.GenerateName; base != "" && strings.HasPrefix(pod.Name, base) && len(pod.Name) == len(base)+randomLength {
		return base
	}
	return pod.Name
}

func handlers(classes []*nodev1.RuntimeClass) []string {
	var list []string
	for _, c := range classes {
		list = append(list, c.Name+" "+c.Handler)
	}
	return list
}

// podPath is the file with the pod as it was accepted: other commands show it, and end
// it, without its manifests.
func podPath(records string, uid types.UID) string {
	return filepath.Join(records, string(uid)+".pod")
}

// savePod writes the pod's file, which only root reads: variables may be secret.
func savePod(records string, pod *v1.Pod) error {
	data, err := json.Marshal(pod)
	if err != nil {
		return fmt.Errorf("write the pod: %w", err)
	}
	path := podPath(records, pod.UID)
	next := filepath.Join(records, newPrefix+string(pod.UID)+".pod")
	if err := os.WriteFile(next, data, 0o600); err != nil {
		return err
	}
	return os.Rename(next, path) // without a sync, so not by wholefile: what a power cut loses is known to be lost
}

// loadPod reads the pod's file.
func loadPod(records string, uid types.UID) (*v1.Pod, error) {
	data, err := os.ReadFile(podPath(records, uid))
	if err != nil {
		return nil, err
	}
	pod := &v1.Pod{}
	if err := json.Unmarshal(data, pod); err != nil {
		return nil, fmt.Errorf("read %s: %w", podPath(records, uid), err)
	}
	if pod.UID != uid {
		return nil, fmt.Errorf("read %s: it is of another pod", podPath(records, uid))
	}
	return pod, nil
}
