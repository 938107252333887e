package bundle

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHostPortTableOfMany: lifepods of several roots that end at the same time all find the
// network plugin's table, and none of them fails because another one has removed it.
func TestHostPortTableOfMany(t *testing.T) {
	runtime.LockOSThread() // for good: the thread, and its network, end with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	here, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Close(here) }() // only used
	ctx := context.Background()
	for range 20 {
		if err := call(ctx, "", "nft", "add", "table", "ip", "cni_hostport"); err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				runtime.LockOSThread()
				if err := unix.Setns(here, unix.CLONE_NEWNET); err != nil {
					t.Error(err)
					return
				}
				if err := removeHostPortTable(ctx); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if call(ctx, "", "nft", "list", "table", "ip", "cni_hostport") == nil {
			t.Fatal("the table is still there")
		}
	}
}
