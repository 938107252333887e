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

	Subnet     netip.Prefix `json:"subnet"` // IPv4
	RangeStart netip.Addr   `json:"rangeStart"`
	RangeEnd   netip.Addr   `json:"rangeEnd"`
	Gateway    netip.Addr   `json:"gateway"`

	Routes []*types.Route `json:"routes"`
	DNS    *types.DNS     `json:"dns"`
}

// parseConfig reads the network configuration and the address range of its
// ipam section. Unknown fields of the section are refused.
func parseConfig(stdin []byte) (*network, *Config, Range, error) {
	n, none := &network{}, Range{}
	if err := json.Unmarshal(stdin, n); err != nil {
		return nil, nil, none, fmt.Errorf("network configuration: %w", err)
	}
	if len(n.IPAM) == 0 {
		return nil, nil, none, errors.New("network configuration has no ipam section")
	}
	config := &Config{}
	decoder := json.NewDecoder(bytes.NewReader(n.IPAM))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(config); err != nil {
		return nil, nil, none, fmt.Errorf("ipam section: %w", err)
	}
	within, err := config.within()
	if err != nil {
		return nil, nil, none, fmt.Errorf("ipam section: %w", err)
	}
	return n, config, within, nil
}

func (c *Config) within() (Range, error) {
	if !filepath.IsAbs(c.DataDir) {
		return Range{}, fmt.Errorf("dataDir %q is not an absolute path", c.DataDir)
	}
	if !c.Subnet.IsValid() {
		return Range{}, errors.New("subnet is missing")
	}
	return newRange(c.Subnet, c.RangeStart, c.RangeEnd, c.Gateway)
}
