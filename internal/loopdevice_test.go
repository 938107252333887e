package internal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/loopdevice"
)

// Numbers are our own, also while lower ones are free, and nothing is left of a device that is detached. One that
// somebody has open is detached when that ends.
func TestLoopDeviceNumbersAreOurOwn(t *testing.T) {
	const first, numbers = 1 << 13, 1 << 13
	file := assert.Get(os.Create(filepath.Join(t.TempDir(), "file"))).Must(t)
	defer file.Close()
	assert.Must(t, file.Truncate(1<<20))
	device, hold, err := loopdevice.Attach(file, unix.LoopInfo64{})
	assert.Must(t, err)
	var number int
	_, err = fmt.Sscanf(device, "/dev/loop%d", &number)
	assert.True(t, err == nil && number >= first && number < first+numbers, "the device is %s, %v", device, err)
	assert.NoError(t, loopdevice.Detach(device))
	files, err := loopdevice.Files()
	assert.True(t, err == nil && files[device] == file.Name(), "while it is open, %s is of %q, %v", device, files[device], err)
	assert.NoError(t, errors.Join(hold.Close(), loopdevice.Detach(device)))
	files, err = loopdevice.Files()
	assert.True(t, err == nil && files[device] == "", "%s is of %q, %v", device, files[device], err)
}
