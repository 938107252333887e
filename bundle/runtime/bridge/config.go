package bridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
	"github.com/containernetworking/cni/pkg/version"

	"github.com/lifepod/lifepod/bundle/runtime/hostports"
)

// config is the network configuration on standard input.
type config struct {
	types.PluginConf
	Bridge string `json:"bridge"`
	// HostPorts is nftables, or the backend that the plugin portmap is to use; it finds
	// one if it is empty.
	HostPorts string `json:"hostPorts"`
	IPAM      struct {
		Subnet netip.Prefix `json:"subnet"`
	} `json:"ipam"` // package ipam reads all of it
	RuntimeConfig struct {
		PortMappings []hostports.Mapping `json:"portMappings"`
	} `json:"runtimeConfig"`
}

const nftables = "nftables"

// parseConfig reads a configuration, with errors as CNI wants them.
func parseConfig(stdin []byte) (*config, error) {
	c := &config{}
	if err := json.Unmarshal(stdin, c); err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, fmt.Sprintf("network configuration: %v", err), "")
	}
	if err := c.validate(); err != nil {
		return nil, types.NewError(types.ErrInvalidNetworkConfig, "network configuration: "+err.Error(), "")
	}
	return c, nil
}

func (c *config) validate() error {
	if c.Bridge == "" {
		return errors.New("bridge is missing")
	}
	for _, m := range c.RuntimeConfig.PortMappings {
		if err := m.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// previous is the result of the pod's ADD; nil if the runtime gives none.
func (c *config) previous() (*current.Result, error) {
	if c.RawPrevResult == nil {
		return nil, nil
	}
	if err := version.ParsePrevResult(&c.PluginConf); err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, err.Error(), "")
	}
	result, err := current.NewResultFromResult(c.PrevResult)
	if err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, err.Error(), "")
	}
	return result, nil
}
