package leftovers

import (
	"strings"

	"github.com/lifepod/lifepod/internal/loopdevice"
)

// findLoops lists the loop devices of files below the two folders, which may have been deleted.
func findLoops(place Place) (found []Leftover, err error) {
	files, err := loopdevice.Files()
	for device, file := range files {
		if file = strings.TrimSuffix(file, " (deleted)"); place.holds(file) {
			found = append(found, Leftover{Kind: LoopDevice, Name: device, Detail: file})
		}
	}
	return found, err
}

// sweepLoop detaches a device that is still of the same file. Most are detached with their
// mount, and may be another's by now.
func sweepLoop(device, file string) error {
	files, err := loopdevice.Files()
	if err != nil || strings.TrimSuffix(files[device], " (deleted)") != file {
		return err
	}
	return loopdevice.Detach(device)
}
