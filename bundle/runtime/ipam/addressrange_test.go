package ipam

import (
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/bundle/runtime/internal/assert"
)

func address(s string) netip.Addr {
	if s == "" {
		return netip.Addr{}
	}
	return netip.MustParseAddr(s)
}

func TestNewRange(t *testing.T) {
	for _, tt := range []struct {
		subnet, first, last, gateway string
		// want is "first last gateway size", or a part of the error.
		want string
	}{
		{"10.88.0.0/16", "", "", "", "10.88.0.1 10.88.255.254 10.88.0.1 65533"},
		{"10.88.0.0/30", "", "", "", "10.88.0.1 10.88.0.2 10.88.0.1 1"},
		{"10.88.0.0/24", "10.88.0.10", "10.88.0.19", "", "10.88.0.10 10.88.0.19 10.88.0.1 10"},
		{"10.88.0.0/24", "10.88.0.10", "10.88.0.19", "10.88.0.12", "10.88.0.10 10.88.0.19 10.88.0.12 9"},
		{"10.88.0.0/24", "10.88.0.7", "10.88.0.7", "", "10.88.0.7 10.88.0.7 10.88.0.1 1"},
		{"0.0.0.0/8", "", "", "", "0.0.0.1 0.255.255.254 0.0.0.1 16777213"},
		{"255.255.255.252/30", "", "", "", "255.255.255.253 255.255.255.254 255.255.255.253 1"},
		{"fd00::/64", "", "", "", "is not IPv4"},
		{"10.88.0.7/16", "", "", "", "10.88.0.0/16 would be right"},
		{"10.88.0.0/31", "", "", "", "too small"},
		{"10.88.0.0/24", "10.89.0.1", "", "", "rangeStart 10.89.0.1 is not in subnet"},
		{"10.88.0.0/24", "", "10.89.0.1", "", "rangeEnd 10.89.0.1 is not in subnet"},
		{"10.88.0.0/24", "", "", "fd00::1", "gateway fd00::1 is not in subnet"},
		{"10.88.0.0/24", "10.88.0.9", "10.88.0.8", "", "is after rangeEnd"},
		{"10.88.0.0/24", "10.88.0.1", "10.88.0.1", "", "only the gateway"},
		{"10.0.0.0/7", "", "", "", "more than 16777216"},
	} {
		r, err := newRange(netip.MustParsePrefix(tt.subnet), address(tt.first), address(tt.last), address(tt.gateway))
		if err != nil {
			assert.True(t, strings.Contains(err.Error(), tt.want), "%+v: error %q, want %q in it", tt, err, tt.want)
			continue
		}
		assert.Equal(t, tt.want, strings.Join([]string{r.First.String(), r.Last.String(), r.Gateway.String(), strconv.Itoa(r.Size())}, " "), "%+v", tt)
	}
}

// walk follows next once around.
func walk(r Range, from netip.Addr) []string {
	var seen []string
	for range r.Size() {
		from = r.next(from)
		seen = append(seen, from.String())
	}
	return seen
}

func TestNextGoesAroundWithoutTheGateway(t *testing.T) {
	for _, tt := range []struct {
		name          string
		gateway, from string
		want          []string
	}{
		{"from nowhere", "10.88.0.1", "", []string{"10.88.0.4", "10.88.0.5", "10.88.0.6"}},
		{"from the middle", "10.88.0.1", "10.88.0.5", []string{"10.88.0.6", "10.88.0.4", "10.88.0.5"}},
		{"from outside", "10.88.0.1", "10.88.0.99", []string{"10.88.0.4", "10.88.0.5", "10.88.0.6"}},
		{"from the other family", "10.88.0.1", "fd00::5", []string{"10.88.0.4", "10.88.0.5", "10.88.0.6"}},
		{"gateway first", "10.88.0.4", "10.88.0.6", []string{"10.88.0.5", "10.88.0.6"}},
		{"gateway in the middle", "10.88.0.5", "", []string{"10.88.0.4", "10.88.0.6"}},
		{"gateway last", "10.88.0.6", "10.88.0.4", []string{"10.88.0.5", "10.88.0.4"}},
	} {
		r := assert.Get(newRange(netip.MustParsePrefix("10.88.0.0/24"), address("10.88.0.4"), address("10.88.0.6"), address(tt.gateway))).Must(t)
		assert.Deep(t, tt.name, tt.want, walk(r, address(tt.from)))
	}
}
