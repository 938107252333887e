package leftovers

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// findLoops lists the loop devices of files below the two folders.
func findLoops(place Place) ([]Leftover, error) {
	links, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		return nil, err
	}
	var found []Leftover
	for _, link := range links {
		device := filepath.Join("/dev", filepath.Base(filepath.Dir(filepath.Dir(link))))
		if file := loopFile(device); place.holds(file) {
			found = append(found, Leftover{Kind: LoopDevice, Name: device, Detail: file})
		}
	}
	return found, nil
}

// loopFile is what a loop device is of, which may have been deleted; empty if it is detached.
func loopFile(device string) string {
	content, err := os.ReadFile(filepath.Join("/sys/block", filepath.Base(device), "loop", "backing_file"))
	if err != nil {
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(content), "\n"), " (deleted)")
}

// sweepLoop detaches a device that is still of the same file. Most are detached with their
// mount, and may be another's by now.
func sweepLoop(device, file string) error {
	if loopFile(device) != file {
		return nil
	}
	open, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	err = unix.IoctlSetInt(int(open.Fd()), unix.LOOP_CLR_FD, 0)
	if errors.Is(err, unix.ENXIO) {
		err = nil
	}
	return errors.Join(err, open.Close())
}
