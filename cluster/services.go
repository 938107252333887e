package cluster

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"strings"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// DefaultServices is the range of service addresses of the default root's cluster.
const DefaultServices = "10.43.0.0/16"

// The addresses that every cluster has, counted from the begin of its range.
const (
	apiService = 1
	dnsService = 10
)

// Clusters of other roots have each one of these blocks, so that the packets of
// several clusters on one machine are told apart.
const (
	servicesBits = 20
	servicesPool = "10.64.0.0/10"
)

// chooseServices chooses the range of service addresses, once for ever: services keep
// their addresses.
func (l *layout) chooseServices() (err error) {
	if l.services.IsValid() { // of the state
		return nil
	}
	l.services, err = l.chooseRange("services", serviceRanges)
	return err
}

// ranges are those that the clusters of one machine have of a kind of addresses.
type ranges struct {
	kind  string
	usual string // of the default root's cluster
	pool  string // other roots have each a block of it
	bits  int    // of a block
}

var serviceRanges = ranges{kind: "service addresses", usual: DefaultServices, pool: servicesPool, bits: servicesBits}

// chooseRange is the range in the file of a name, which is written the first time.
func (l *layout) chooseRange(file string, of ranges) (netip.Prefix, error) {
	chosen, err := l.chosenRange(file, of)
	if err != nil || chosen.IsValid() {
		return chosen, err
	}
	taken, err := bundle.Routed("")
	if err != nil {
		return chosen, err
	}
	if chosen, err = of.free(l.Root, taken); err != nil {
		return chosen, err
	}
	return chosen, wholefile.Write(l.file(file), []byte(chosen.String()+"\n"))
}

// chosenRange is invalid if none has been chosen yet.
func (l *layout) chosenRange(file string, of ranges) (chosen netip.Prefix, err error) {
	text, err := os.ReadFile(l.file(file))
	if errors.Is(err, fs.ErrNotExist) {
		return chosen, nil
	}
	if err == nil {
		chosen, err = netip.ParsePrefix(strings.TrimSpace(string(text)))
	}
	if err != nil {
		return chosen, fmt.Errorf("range of %s in %s: %w", of.kind, l.file(file), err)
	}
	return chosen, nil
}

// free is the root's range, or the next that no route overlaps.
func (of ranges) free(root string, taken []netip.Prefix) (netip.Prefix, error) {
	var candidates []netip.Prefix
	if root == bundle.DefaultRoot {
		candidates = append(candidates, netip.MustParsePrefix(of.usual))
	}
	pool := netip.MustParsePrefix(of.pool)
	blocks := uint32(1) << (of.bits - pool.Bits())
	begin := pool.Addr().As4()
	hash := sha256.Sum256([]byte(root))
	for i := range blocks {
		block := (binary.BigEndian.Uint32(hash[:4]) + i) % blocks
		candidates = append(candidates, netip.PrefixFrom(offset(begin, block<<(32-of.bits)), of.bits))
	}
candidates:
	for _, c := range candidates {
		for _, t := range taken {
			if c.Overlaps(t) {
				continue candidates
			}
		}
		return c, nil
	}
	return netip.Prefix{}, fmt.Errorf("every range of %s, %s and those in %s, collides with a route of this machine", of.kind, of.usual, of.pool)
}

func offset(begin [4]byte, n uint32) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(begin[:])+n)
	return netip.AddrFrom4(a)
}

// serviceIP is one of the addresses that every cluster has.
func (l *layout) serviceIP(n uint32) net.IP {
	return offset(l.services.Addr().As4(), n).AsSlice()
}
