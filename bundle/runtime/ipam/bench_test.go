package ipam

import (
	"fmt"
	"net/netip"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/must"
)

// BenchmarkSandbox is what a pod's sandbox costs in the store: ADD, DEL and
// release, each with its own lock, beside other pods that hold addresses.
func BenchmarkSandbox(b *testing.B) {
	within, err := newRange(netip.MustParsePrefix("10.88.0.0/16"), netip.Addr{}, netip.Addr{}, netip.Addr{})
	must.Succeed(b, err)
	for _, others := range []int{0, 200, 20000} {
		b.Run(fmt.Sprint(others, " other pods"), func(b *testing.B) {
			dir := b.TempDir()
			s := testStore(b, dir, "", &clock{})
			for i := range others {
				attach(b, s, sandbox(fmt.Sprint("other-", i), "c"), within)
			}
			s.Close()
			for b.Loop() {
				once(b, dir, func(s *Store) error { _, err := s.Attach(sandbox("pod", "c"), []Range{within}); return err })
				once(b, dir, func(s *Store) error { return s.Detach(sandbox("pod", "c")) })
				once(b, dir, func(s *Store) error { return s.Release("pod") })
			}
		})
	}
}

func once(b *testing.B, dir string, do func(*Store) error) {
	s, err := Open(dir)
	must.Succeed(b, err)
	defer s.Close()
	must.Succeed(b, do(s))
}
