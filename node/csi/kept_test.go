package csi

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
)

// keep is what a kubelet does with a device that a driver has published: a file stands for it.
func keep(t *testing.T, path string) (loop string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "device")
	for _, made := range []string{file, path} {
		if err := os.MkdirAll(filepath.Dir(made), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(made, make([]byte, 1<<20), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mount(file, path, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	kept, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	for range 50 { // others take free ones, too
		number, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			t.Fatal(err)
		}
		loop = fmt.Sprintf("/dev/loop%d", number)
		device, err := os.OpenFile(loop, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		err = unix.IoctlSetInt(int(device.Fd()), unix.LOOP_SET_FD, int(kept.Fd()))
		_ = device.Close()
		if err == nil {
			t.Cleanup(func() { _ = detach(loop) })
			return loop
		}
	}
	t.Fatal("no loop device is free")
	return ""
}

// TestDeviceOfKubelet: a device that a kubelet has kept open is freed when it is given back, and that
// of another pod is not (A-CSI-8, A-CSI-12).
func TestDeviceOfKubelet(t *testing.T) {
	m := newMachine(t, newDriver(t, staging), nil)
	one, two, bound := podOf("one"), podOf("two"), persistent("pv")
	bound.Spec.VolumeMode = new(v1.PersistentVolumeBlock)
	for _, pod := range []*v1.Pod{one, two} {
		m.mustPublish(pod, bound)
		keep(t, keptDevice(m.volumes.layout, pod.UID, "pv"))
	}
	for i, pod := range []*v1.Pod{one, two} {
		if err := m.unpublish(pod); err != nil {
			t.Fatal(err)
		}
		for j, of := range []*v1.Pod{one, two} {
			loops, err := loopsOf(keptDevice(m.volumes.layout, of.UID, "pv"))
			if err != nil || (len(loops) == 1) != (j > i) {
				t.Errorf("after %s has given it back: loop devices of %s: %q, %v", pod.Name, of.Name, loops, err)
			}
		}
	}
	m.wantNothing()
}
