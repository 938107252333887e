package ipam

import (
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

// testRange is 10.88.0.2 … 10.88.0.(hosts+1) with gateway 10.88.0.1.
func testRange(t testing.TB, hosts int) Range {
	t.Helper()
	subnet := netip.MustParsePrefix("10.88.0.0/16")
	last := netip.AddrFrom4([4]byte{10, 88, 0, byte(hosts + 1)})
	return assert.Get(newRange(subnet, netip.Addr{}, last, netip.Addr{})).Must(t)
}

// memoryDir is a folder in memory, for tests that make thousands of stores: what
// is synced there costs nothing.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "lifepod-ipam-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// clock counts: each reading is a second later than the one before.
type clock struct{ at time.Time }

func (c *clock) now() time.Time {
	c.at = c.at.Add(time.Second)
	return c.at
}

// testStore opens a store whose clock counts; boot "" is this boot.
func testStore(t testing.TB, dir, boot string, c *clock) *Store {
	t.Helper()
	s := assert.Get(Open(dir)).Must(t)
	if boot != "" {
		s.boot = boot
	}
	s.now = c.now
	t.Cleanup(func() { s.Close() })
	return s
}

// sandbox is the attachment of a pod's eth0.
func sandbox(pod, container string) Attachment {
	return Attachment{Network: "lifepod", Container: container, Interface: "eth0", Pod: pod}
}

// storeOf is a new store, and a range of so many addresses.
func storeOf(t testing.TB, hosts int) (*Store, Range) {
	return testStore(t, t.TempDir(), "", &clock{}), testRange(t, hosts)
}

// attach gives the single address of an attachment.
func attach(t testing.TB, s *Store, a Attachment, within Range) string {
	t.Helper()
	address, err := s.Attach(a, within)
	assert.Require(t, err == nil, "attach %+v: %v", a, err)
	return address.String()
}

// release is what lifepod does when a pod is gone.
func release(t testing.TB, s *Store, pod string) {
	t.Helper()
	assert.Must(t, os.Remove(s.recordPath(pod)))
}

func detach(t testing.TB, s *Store, a Attachment) {
	t.Helper()
	if err := s.Detach(a); err != nil {
		t.Fatalf("detach %+v: %v", a, err)
	}
}
