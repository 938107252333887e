package ipam

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/types"
)

// network is the CNI configuration on standard input, as far as it concerns
// address management.
type network struct {
	types.PluginConf
	IPAM json.RawMessage `json:"ipam"`
}

// Config is the ipam section of a network configuration.
type Config struct {
	Type string `json:"type"`
	// DataDir is the store, an absolute path. Networks may share one.
	DataDir string `json:"dataDir"`

	Subnet     netip.Prefix `json:"subnet"`
	RangeStart netip.Addr   `json:"rangeStart"`
	RangeEnd   netip.Addr   `json:"rangeEnd"`
	Gateway    netip.Addr   `json:"gateway"`

	// Subnet6 adds an address of this IPv6 subnet to every attachment.
	Subnet6     netip.Prefix `json:"subnet6"`
	RangeStart6 netip.Addr   `json:"rangeStart6"`
	RangeEnd6   netip.Addr   `json:"rangeEnd6"`
	Gateway6    netip.Addr   `json:"gateway6"`

	Routes []*types.Route `json:"routes"`
	DNS    *types.DNS     `json:"dns"`
}

// parseConfig reads the network configuration and the address ranges of its
// ipam section. Unknown fields of the section are refused.
func parseConfig(stdin []byte) (*network, *Config, []Range, error) {
	n := &network{}
	if err := json.Unmarshal(stdin, n); err != nil {
		return nil, nil, nil, fmt.Errorf("network configuration: %w", err)
	}
	if len(n.IPAM) == 0 {
		return nil, nil, nil, errors.New("network configuration has no ipam section")
	}
	config := &Config{}
	decoder := json.NewDecoder(bytes.NewReader(n.IPAM))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(config); err != nil {
		return nil, nil, nil, fmt.Errorf("ipam section: %w", err)
	}
	ranges, err := config.ranges()
	if err != nil {
		return nil, nil, nil, fmt.Errorf("ipam section: %w", err)
	}
	return n, config, ranges, nil
}

func (c *Config) ranges() ([]Range, error) {
	if !filepath.IsAbs(c.DataDir) {
		return nil, fmt.Errorf("dataDir %q is not an absolute path", c.DataDir)
	}
	if !c.Subnet.IsValid() {
		return nil, errors.New("subnet is missing")
	}
	first, err := newRange(c.Subnet, c.RangeStart, c.RangeEnd, c.Gateway)
	if err != nil {
		return nil, err
	}
	if !c.Subnet6.IsValid() {
		if c.RangeStart6.IsValid() || c.RangeEnd6.IsValid() || c.Gateway6.IsValid() {
			return nil, errors.New("rangeStart6, rangeEnd6 and gateway6 need subnet6")
		}
		return []Range{first}, nil
	}
	if c.Subnet6.Addr().Is4() || !c.Subnet.Addr().Is4() {
		return nil, fmt.Errorf("subnet6 %s must be IPv6 beside an IPv4 subnet, not %s", c.Subnet6, c.Subnet)
	}
	second, err := newRange(c.Subnet6, c.RangeStart6, c.RangeEnd6, c.Gateway6)
	if err != nil {
		return nil, err
	}
	return []Range{first, second}, nil
}
