package bundle

import (
	"context"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/assert"
)

func prefix(text string) netip.Prefix { return netip.MustParsePrefix(text) }

func TestFreeSubnet(t *testing.T) {
	standard, other := locate(t, ""), locate(t, "/srv/lifepod")
	derived := assert.Get(freeSubnet(other, netip.Prefix{}, nil)).Must(t)
	assert.Require(t, prefix("10.128.0.0/9").Overlaps(derived) && derived.Bits() == 22, "derived subnet %v: want a /22 of 10.128.0.0/9", derived)
	for name, test := range map[string]struct {
		paths  Paths
		before netip.Prefix
		taken  []netip.Prefix
		want   netip.Prefix
	}{
		"default root":               {paths: standard, want: prefix(DefaultSubnet)},
		"the one of before":          {paths: other, before: prefix("10.9.0.0/22"), want: prefix("10.9.0.0/22")},
		"before is taken":            {paths: other, before: prefix("10.9.0.0/22"), taken: []netip.Prefix{prefix("10.9.1.0/24")}, want: derived},
		"the first candidate is too": {paths: other, taken: []netip.Prefix{prefix("192.0.2.0/24"), derived}, want: after(derived)},
	} {
		t.Run(name, func(t *testing.T) {
			got := assert.Get(freeSubnet(test.paths, test.before, test.taken)).Must(t)
			assert.Deep(t, "subnet", test.want.String(), got.String())
		})
	}
	if _, err := freeSubnet(standard, netip.Prefix{}, []netip.Prefix{prefix("10.0.0.0/8")}); err == nil ||
		!strings.Contains(err.Error(), "every candidate collides") {
		t.Errorf("everything taken: error %v", err)
	}
}

// after is the /22 behind p, in a ring of those in 10.128.0.0/9.
func after(p netip.Prefix) netip.Prefix {
	address := p.Addr().As4()
	for i, step := 2, byte(4); i > 0; i, step = i-1, 1 {
		address[i] += step
		if address[i] != 0 {
			break
		}
	}
	address[1] |= 128
	return netip.PrefixFrom(netip.AddrFrom4(address), 22)
}

func TestConfiguredSubnet(t *testing.T) {
	p := Paths{Root: t.TempDir()}
	for _, bad := range []string{"10.0.0.0", "10.0.0.0/30", "fd00::/64", "10.0.0.0/33", "all"} {
		if _, err := chooseNetwork(p, bad); err == nil || !strings.Contains(err.Error(), "must be an IPv4 prefix of at most 29 bits") {
			t.Errorf("subnet %q: error %v, want it refused", bad, err)
		}
	}
	got := assert.Get(chooseNetwork(p, "10.77.3.9/24")).Must(t)
	assert.Deep(t, "subnet", "10.77.3.0/24", got.Subnet.String())
}

// The choice is kept.
func TestSubnetIsRemembered(t *testing.T) {
	p := Paths{Root: t.TempDir()}
	first := assert.Get(chooseNetwork(p, "10.77.3.0/24")).Must(t)
	assert.Must(t, first.settle(p))
	again := assert.Get(chooseNetwork(p, "")).Must(t)
	assert.Deep(t, "subnet", first.Subnet.String(), again.Subnet.String())
}

// TestHostPortTableOfMany: lifepods of several roots that end at the same time all find the
// network plugin's table, and none of them fails because another one has removed it.
func TestHostPortTableOfMany(t *testing.T) {
	runtime.LockOSThread() // for good: the thread, and its network, end with the test
	assert.Must(t, unix.Unshare(unix.CLONE_NEWNET))
	here := assert.Get(unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)).Must(t)
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
				assert.NoError(t, removeHostPortTable(ctx))
			})
		}
		all.Wait()
		assert.Require(t, call(ctx, "", "nft", "list", "table", "ip", "cni_hostport") != nil, "the table is still there")
	}
}
