package bundle

import (
	"fmt"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// CNI is a pod network that others install and configure, as for the kubelet with
// any containerd: pods have no network until its configuration is there.
type CNI struct {
	ConfDir string `json:"confDir"` // of *.conflist; containerd takes the first by name, and sees changes
	BinDir  string `json:"binDir"`  // of its plugins; those of the bundle are found as well
}

// DefaultCNIBin is where CNI plugins are installed.
const DefaultCNIBin = "/opt/cni/bin"

// resolved is nil for the bundled network; else folders are absolute.
func (c CNI) resolved() (*CNI, error) {
	if c.ConfDir == "" {
		return nil, nil
	}
	if c.BinDir == "" {
		c.BinDir = DefaultCNIBin
	}
	var err error
	for _, dir := range []*string{&c.ConfDir, &c.BinDir} {
		if *dir, err = filepath.Abs(*dir); err != nil {
			return nil, fmt.Errorf("folder of the pod network: %w", err)
		}
	}
	return &c, nil
}

// chooseNetwork is the network that is configured: another one's, or the bundled.
func (d *daemon) chooseNetwork() (network, error) {
	recorded, err := recordedNetwork(d.paths)
	if err != nil {
		return network{}, err
	}
	cni := recorded.CNI
	if d.cni != nil {
		if cni, err = d.cni.resolved(); err != nil {
			return network{}, err
		}
	}
	if cni == nil {
		return chooseNetwork(d.paths, d.subnet)
	}
	if _, err := netlink.LinkByName(d.paths.Bridge()); err == nil && recorded.CNI == nil {
		return network{}, fmt.Errorf("use the pod network of %s: there are pods on the bundled one, the bridge %s: end them first", cni.ConfDir, d.paths.Bridge())
	}
	return network{Subnet: recorded.Subnet, Filter: nftables, CNI: cni}, nil
}

// OtherNetwork says whether pods of the root are on another network than the bundled.
func (p Paths) OtherNetwork() bool {
	recorded, err := recordedNetwork(p)
	return err == nil && recorded.CNI != nil
}
