package cluster

import (
	"fmt"
	"net/netip"
	"os"
	"testing"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/rootfolder"
)

// Each root has a range of its own, which it keeps, and which isn't in the way of a
// route.
func TestFreeServices(t *testing.T) {
	at := func(root string, taken ...string) string {
		t.Helper()
		var routes []netip.Prefix
		for _, r := range taken {
			routes = append(routes, netip.MustParsePrefix(r))
		}
		p, err := serviceRanges.free(root, routes)
		if err != nil {
			return err.Error()
		}
		return p.String()
	}
	for _, test := range []struct {
		root  string
		taken []string
		want  string
	}{
		{bundle.DefaultRoot, nil, "10.43.0.0/16"},
		{"/tmp/other", []string{"10.0.0.0/8"}, "every range of service addresses, 10.43.0.0/16 and those in 10.64.0.0/10, collides with a route of this machine"},
	} {
		assert.Deep(t, fmt.Sprintf("%s beside %v", test.root, test.taken), test.want, at(test.root, test.taken...))
	}
	one, two := netip.MustParsePrefix(at("/tmp/one")), netip.MustParsePrefix(at("/tmp/two"))
	assert.True(t, !one.Overlaps(two) && netip.MustParsePrefix(servicesPool).Contains(one.Addr()) && one.Bits() == servicesBits,
		"ranges %s and %s: want two blocks of %s", one, two, servicesPool)
	beside := netip.MustParsePrefix(at("/tmp/one", one.String()))
	assert.True(t, !beside.Overlaps(one), "range %s is taken, and was chosen", beside)
}

func TestKeepsServices(t *testing.T) {
	l := &layout{Config: Config{Root: t.TempDir()}, folder: rootfolder.Cluster}
	assert.Must(t, os.Mkdir(l.file(""), 0o700))
	assert.Must(t, os.WriteFile(l.file("services"), []byte("10.99.0.0/20\n"), 0o600))
	assert.Must(t, l.chooseServices())
	got := []string{l.services.String(), l.serviceIP(apiService).String(), l.serviceIP(dnsService).String()}
	assert.Deep(t, "kept", []string{"10.99.0.0/20", "10.99.0.1", "10.99.0.10"}, got)
}

// TestPodsAndServicesAreApart: no root's pods have addresses that services may have.
func TestPodsAndServicesAreApart(t *testing.T) {
	var all []netip.Prefix
	for _, text := range []string{DefaultServices, servicesPool, DefaultPods, podRanges.pool} {
		all = append(all, netip.MustParsePrefix(text))
	}
	for i, one := range all {
		for _, other := range all[i+1:] {
			assert.True(t, !one.Overlaps(other), "%s and %s overlap", one, other)
		}
	}
}

func TestKeepsPods(t *testing.T) {
	l := &layout{Config: Config{Root: t.TempDir()}, folder: rootfolder.Cluster}
	assert.Must(t, os.Mkdir(l.file(""), 0o700))
	assert.Must(t, l.choosePods())
	first := l.pods
	if l.pods = (netip.Prefix{}); !netip.MustParsePrefix(podRanges.pool).Contains(first.Addr()) || first.Bits() != podRanges.bits {
		t.Errorf("range %s: want a block of %s", first, podRanges.pool)
	}
	assert.Must(t, l.choosePods())
	assert.Deep(t, "kept", first.String(), l.pods.String())
}
