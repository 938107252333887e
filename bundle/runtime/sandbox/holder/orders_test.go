package holder

import (
	"bytes"
	"encoding/binary"
	"os/exec"
	"syscall"
	"testing"

	"github.com/containerd/containerd/v2/pkg/sys/reaper"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// FuzzOrders gives the program, which runs as root, whatever bytes for its orders. It has no file of a
// namespace to join, and begins with a mount namespace of its own: should it take the file systems away
// from others than its child, they are not the machine's.
func FuzzOrders(f *testing.F) {
	encoded := func(o order) []byte {
		return assert.Get(binary.Append(nil, binary.NativeEndian, o)).Must(f)
	}
	for _, o := range []order{
		{Made: unix.CLONE_NEWNS | unix.CLONE_NEWPID, UID: 1, GID: 1},
		{Made: unix.CLONE_NEWPID, UID: 1, GID: 1},
		{Made: unix.CLONE_NEWNS | unix.CLONE_VM, UID: 1, GID: 1},
		{Made: unix.CLONE_NEWNS, Joined: unix.CLONE_NEWNET, UID: 1, GID: 1},
		{Made: unix.CLONE_NEWNS, Joined: unix.CLONE_NEWNS, UID: 1, GID: 1},
		{Made: unix.CLONE_NEWNS, UID: ^uint32(0), GID: 1},
		{Made: unix.CLONE_NEWNS, UID: 1, GID: ^uint32(0)},
	} {
		f.Add(encoded(o))
		f.Add(append(encoded(o), "\x01/etc/passwd\x00changed\x00"...))
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, orders []byte) {
		var o order
		if _, err := binary.Decode(orders, binary.NativeEndian, &o); err == nil && obeyed(o) {
			return // what it does then, other tests say
		}
		if a := answerTo(t, orders); a.PID != 0 {
			_ = unix.Kill(int(a.PID), unix.SIGKILL)
			t.Errorf("it made process %d of %+v", a.PID, o)
		}
	})
}

// obeyed says whether the program is to make namespaces.
func obeyed(o order) bool {
	made := uint32(unix.CLONE_NEWNS)
	for _, flag := range cloneFlags {
		made |= flag
	}
	return o.Made&^made == 0 && o.Made&unix.CLONE_NEWNS != 0 && o.Joined == 0 && o.UID != ^uint32(0) && o.GID != ^uint32(0)
}

// answerTo returns what the program says of orders. It and its child have ended then.
func answerTo(t *testing.T, orders []byte) (a answer) {
	t.Helper()
	executable := assert.Get(sealed(program)).Must(t)
	defer executable.Close()
	h := &Holder{exits: reaper.Default.Subscribe()}
	defer reaper.Default.Unsubscribe(h.exits)
	cmd := assert.Get(h.command(executable, nil, nil)).Must(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
	start(t, cmd)
	_, _ = h.orders.Write(orders) // it may have ended
	_ = h.orders.Close()
	answers := &bytes.Buffer{}
	assert.Must(t, assert.ErrorOf(answers.ReadFrom(h.answers)))
	_ = h.answers.Close()
	_ = binary.Read(answers, binary.NativeEndian, &a) // it need not answer
	return a
}

func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	ended := assert.Get(reaper.Default.Start(cmd)).Must(t)
	t.Cleanup(func() { _, _ = reaper.Default.Wait(cmd, ended) })
	for _, file := range cmd.ExtraFiles[:2] {
		_ = file.Close()
	}
}
