package csi

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/internal/wholefile"
)

// record is what is kept of a volume, in the kubelet's form.
type record map[string]string

// What a record has. Those of lifepod are passed over by a kubelet; a record without them is one
// of a kubelet.
const (
	keyName       = "specVolID"
	keyHandle     = "volumeHandle"
	keyDriver     = "driverName"
	keyNode       = "nodeName"
	keyMode       = "volumeLifecycleMode"
	keyAttachment = "attachmentID"
	// keyLabel is the SELinux label that the volume is mounted with; none: without.
	keyLabel = "seLinuxMountContext"
	// keyDone is the boot of the machine in which the driver has answered that the volume is
	// there: it need not be called again. A mount does not outlive the boot.
	keyDone = "lifepod.dev/done-in-boot"
	// keySize is to how many bytes the node has expanded the volume.
	keySize = "lifepod.dev/size"
)

// sizeDigits are those that any size has room in.
const sizeDigits = 19

func (r record) driver() string { return r[keyDriver] }
func (r record) handle() string { return r[keyHandle] }

// readRecord returns nil if there is none.
func readRecord(dir string) (record, error) {
	var r record
	err := wholefile.ReadJSON(filepath.Join(dir, recordName), &r)
	if err == nil && r == nil {
		return nil, nil
	}
	if err == nil && (r.driver() == "" || r.handle() == "") {
		err = errors.New("it names no driver or no volume")
	}
	if err != nil {
		return nil, fmt.Errorf("record of a volume %s: %w", filepath.Join(dir, recordName), err)
	}
	r.dropRoom()
	return r, nil
}

// room is the value of a key that complete gives its value to.
func room(length int) string { return strings.Repeat(" ", length) }

// dropRoom leaves the values: a boot that does not fill its room was not written to the end.
func (r record) dropRoom() {
	if strings.Contains(r[keyDone], " ") {
		delete(r, keyDone)
	}
	if r[keySize] = strings.TrimRight(r[keySize], " "); r[keySize] == "" {
		delete(r, keySize)
	}
}

// writeRecord makes the folder, too.
func writeRecord(dir string, r record) error {
	err := os.MkdirAll(dir, 0o750)
	if err == nil {
		err = wholefile.WriteJSON(filepath.Join(dir, recordName), r)
	}
	if err != nil {
		return fmt.Errorf("record of a volume: %w", err)
	}
	return nil
}

// complete writes what was learned since writeRecord. Where that has left room, it is written in
// place, which costs a pod no wait for the disk: a kill leaves it, and a power cut leaves a whole
// record with this or without, of a mount that is gone. No other file is made, which a kubelet
// would find in the folder.
func complete(dir string, r record) error {
	path := filepath.Join(dir, recordName)
	before, err := os.ReadFile(path)
	if err != nil {
		return writeRecord(dir, r)
	}
	content, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("record of a volume: %w", err)
	}
	if len(content) != len(before) {
		return writeRecord(dir, r)
	}
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("record of a volume: %w", err)
	}
	from, to := changed(before, content)
	_, err = file.WriteAt(content[from:to], int64(from))
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("record of a volume: %w", err)
	}
	return nil
}

// changed is where two texts of one length differ.
func changed(before, after []byte) (from, to int) {
	for to = len(after); from < to && before[from] == after[from]; {
		from++
	}
	for to > from && before[to-1] == after[to-1] {
		to--
	}
	return from, to
}

// doubt notes, before the driver takes a volume back, that it may be gone.
func doubt(dir string) error {
	r, err := readRecord(dir)
	if err != nil || r[keyDone] == "" {
		return err
	}
	delete(r, keyDone)
	return writeRecord(dir, r)
}

// use is a volume that a pod has.
type use struct {
	record
	uid    types.UID
	name   string
	device bool
}

// usesOf lists what a pod has of CSI drivers. With an error, which names records that can't be
// read, it lists the others.
func (l layout) usesOf(uid types.UID) (uses []use, err error) {
	add := func(dir string, device bool, recordDir func(name string) string) error {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		var damaged error
		for _, e := range entries {
			r, err := readRecord(recordDir(e.Name()))
			damaged = errors.Join(damaged, err)
			if r != nil { // else nothing was asked of the driver yet
				uses = append(uses, use{record: r, uid: uid, name: e.Name(), device: device})
			}
		}
		return damaged
	}
	volumes := l.ofPod(uid)
	err = add(volumes, false, func(name string) string { return filepath.Join(volumes, name) })
	return uses, errors.Join(err, add(l.linksOf(uid), true, l.deviceData))
}

// allUses lists what all pods have, as usesOf does.
func (l layout) allUses() (uses []use, err error) {
	entries, err := os.ReadDir(l.pods)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var damaged error
	for _, e := range entries {
		of, err := l.usesOf(types.UID(e.Name()))
		uses, damaged = append(uses, of...), errors.Join(damaged, err)
	}
	return uses, damaged
}

// stays is what is staged of a volume, or kept of a device.
type stays struct {
	record
	name string // of a device's PersistentVolume; empty: it has a file system
}

// allStays lists what is staged, and kept of devices, on the node.
func (l layout) allStays() (list []stays, err error) {
	add := func(pattern string, nameOf func(dir string) string) error {
		found, err := filepath.Glob(filepath.Join(l.csi(), pattern, recordName))
		for _, path := range found {
			r, readErr := readRecord(filepath.Dir(path))
			if r != nil {
				list = append(list, stays{r, nameOf(filepath.Dir(path))})
			}
			err = errors.Join(err, readErr)
		}
		return err
	}
	err = errors.Join(
		add("*/*", func(string) string { return "" }),
		add(filepath.Join(devicesFolder, "*", "data"), func(dir string) string { return filepath.Base(filepath.Dir(dir)) }),
	)
	return list, err
}

// Unmounted notes, for all volumes of a node without an agent, that they may be gone: their
// mounts were taken away without the drivers, and the next agent calls those again.
func Unmounted(podsDir, pluginsDir string) error {
	l := layout{pods: podsDir, plugins: pluginsDir}
	var all error
	for _, pattern := range []string{
		filepath.Join(l.pods, "*", "volumes", pluginFolder, "*", recordName), filepath.Join(l.pods, "*", "plugins", pluginFolder, "*", recordName),
		filepath.Join(l.csi(), "*", "*", recordName), filepath.Join(l.deviceData("*"), recordName),
	} {
		found, err := filepath.Glob(pattern)
		all = errors.Join(all, err)
		for _, path := range found {
			all = errors.Join(all, doubt(filepath.Dir(path)))
		}
	}
	return all
}
