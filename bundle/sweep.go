package bundle

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/vishvananda/netlink"
)

// removeNetwork removes the bridge, unless something is connected to it.
func (p Paths) removeNetwork(_ context.Context) error {
	n, err := recordedNetwork(p)
	if err != nil || n.Bridge == "" {
		return err
	}
	ports, err := os.ReadDir(filepath.Join("/sys/class/net", n.Bridge, "brif"))
	if err != nil || len(ports) > 0 {
		// Without the folder there is no bridge.
		return nil
	}
	link, err := netlink.LinkByName(n.Bridge)
	if err == nil {
		err = netlink.LinkDel(link)
	}
	var gone netlink.LinkNotFoundError
	if err != nil && !errors.As(err, &gone) {
		return fmt.Errorf("remove the bridge %s: %w", n.Bridge, err)
	}
	return nil
}
