package bundle

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/internal/assert"
)

// configured is the network that a start of a root has.
func configured(t *testing.T, p Paths, c *CNI) network {
	t.Helper()
	d := &daemon{paths: p, cni: c}
	n, err := d.chooseNetwork()
	if err == nil {
		err = n.settle(p)
	}
	assert.Must(t, err)
	return n
}

// Whoever opens the root without saying anything has the network of before: else
// ending pods would call other plugins than beginning them.
func TestOtherNetwork(t *testing.T) {
	p := locate(t, t.TempDir())
	p.Bundle = "/srv/bundle"
	bundled := configured(t, p, &CNI{})
	want := &CNI{ConfDir: "/etc/cni/net.d", BinDir: DefaultCNIBin}
	for _, given := range []*CNI{{ConfDir: "/etc/cni/net.d"}, nil} {
		got := configured(t, p, given)
		assert.Deep(t,

			fmt.Sprintf("given %v", given), network{Subnet: bundled.Subnet, Filter: nftables, CNI: want}, got, cmp.Comparer(func(a, b network) bool {
				return a.Subnet == b.Subnet && a.Filter == b.Filter && cmp.Equal(a.CNI, b.CNI)
			}))

		assert.True(t, p.OtherNetwork(), "it is not said to be another network")
	}
	back := configured(t, p, &CNI{})
	assert.True(t, back.CNI == nil && back.Subnet == bundled.Subnet && !p.OtherNetwork(),
		"the bundled network again: got %+v, want the subnet %s", back, bundled.Subnet)
}

func TestOtherNetworkInContainerd(t *testing.T) {
	p := locate(t, "/srv/lifepod")
	p.Bundle = "/srv/bundle"
	text := assert.Get(containerdConfig(p, host{snapshotter: native, cni: &CNI{ConfDir: "/etc/cni/net.d", BinDir: "/opt/cni/bin"}})).Must(t)
	var got map[string]any
	assert.Must(t, toml.Unmarshal(text, &got))
	want := map[string]any{"conf_dir": "/etc/cni/net.d", "bin_dirs": []any{"/opt/cni/bin", "/srv/bundle/cni"}, "use_internal_loopback": true}
	assert.Deep(t, "", want, at(t, got, "plugins", "io.containerd.cri.v1.runtime", "cni"))
}

// TestOtherNetworkWaitsForPods: pods on the bridge would be ended by other plugins
// than those that began them.
func TestOtherNetworkWaitsForPods(t *testing.T) {
	p := locate(t, t.TempDir())
	bridge := &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: p.Bridge()}}
	assert.Must(t, netlink.LinkAdd(bridge))
	assert.AtEnd(t, func() error { return netlink.LinkDel(bridge) })
	_, err := (&daemon{paths: p, cni: &CNI{ConfDir: "/etc/cni/net.d"}}).chooseNetwork()
	assert.True(t, err != nil && strings.Contains(err.Error(), "end them first"), "error %v, want that pods are ended first", err)
}
