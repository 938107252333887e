package loopdevice

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Numbers are our own, also while lower ones are free, and nothing is left of a device that is detached. One that
// somebody has open is detached when that ends.
func TestNumbersAreOurOwn(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := file.Truncate(1 << 20); err != nil {
		t.Fatal(err)
	}
	device, hold, err := Attach(file, unix.LoopInfo64{})
	if err != nil {
		t.Fatal(err)
	}
	var number int
	if _, err := fmt.Sscanf(device, "/dev/loop%d", &number); err != nil || number < first || number >= first+numbers {
		t.Errorf("the device is %s, %v", device, err)
	}
	if err := Detach(device); err != nil {
		t.Error(err)
	}
	if files, err := Files(); err != nil || files[device] != file.Name() {
		t.Errorf("while it is open, %s is of %q, %v", device, files[device], err)
	}
	if err := errors.Join(hold.Close(), Detach(device)); err != nil {
		t.Error(err)
	}
	if files, err := Files(); err != nil || files[device] != "" {
		t.Errorf("%s is of %q, %v", device, files[device], err)
	}
}
