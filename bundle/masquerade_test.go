package bundle

import (
	"context"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestHostPortTableOfMany: lifepods of several roots that end at the same time all find the
// network plugin's table, and none of them fails because another one has removed it.
func TestHostPortTableOfMany(t *testing.T) {
	runtime.LockOSThread() // for good: the thread, and its network, end with the test
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	here, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	assert.Must(t, err)
	defer func() { _ = unix.Close(here) }() // only used
	ctx := context.Background()
	for range 20 {
		assert.Must(t, call(ctx, "", "nft", "add", "table", "ip", "cni_hostport"))
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
