package internal_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/loopdevice"
)

// Numbers are our own, also while lower ones are free, and nothing is left of a device that is detached. One that
// somebody has open is detached when that ends.
func TestLoopDeviceNumbersAreOurOwn(t *testing.T) {
	const first, numbers = 1 << 13, 1 << 13
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	device, hold, err := loopdevice.Attach(file, unix.LoopInfo64{})
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscanf(device, "/dev/loop%d", &number); err != nil || number < first || number >= first+numbers {
		t.Errorf("the device is %s, %v", device, err)
	}
	if err := loopdevice.Detach(device); err != nil {
		t.Error(err)
	}
	if files, err := loopdevice.Files(); err != nil || files[device] != file.Name() {
		t.Errorf("while it is open, %s is of %q, %v", device, files[device], err)
	}
	if err := errors.Join(hold.Close(), loopdevice.Detach(device)); err != nil {
		t.Error(err)
	}
	if files, err := loopdevice.Files(); err != nil || files[device] != "" {
		t.Errorf("%s is of %q, %v", device, files[device], err)
	}
}
