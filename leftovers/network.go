package leftovers

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/localnet"
	"github.com/lifepod/lifepod/internal/plain"
)

// findNetworks lists the named network namespaces that one of the processes is
// in, or that a port of the bridge leads to. Those that were named below
// the place's folders are among the mounts.
func (s system) findNetworks(place Place, processes []Leftover) ([]Leftover, error) {
	inodes := s.networksOf(processes)
	peers, err := bridgePeers(place.Bridge)
	if err != nil {
		return nil, err
	}
	var found []Leftover
	for _, folder := range s.namedNetworks {
		entries, _ := os.ReadDir(folder)
		for _, entry := range entries {
			path := filepath.Join(folder, entry.Name())
			if inodes[inode(path)] || peers[namespaceID(path)] {
				found = append(found, Leftover{Kind: NetworkNamespace, Name: path})
			}
		}
	}
	return found, nil
}

// networksOf are the network namespaces of the processes but for our own, which
// the runtime shares.
func (s system) networksOf(processes []Leftover) map[uint64]bool {
	inodes := map[uint64]bool{}
	for _, process := range processes {
		inodes[inode(s.networkOf(process.process.PID))] = true
	}
	// The process's first thread may be in another one: see doctor's trials.
	delete(inodes, inode(filepath.Join(s.proc, "thread-self", "ns", "net")))
	delete(inodes, inode(s.networkOf(1)))
	delete(inodes, 0)
	return inodes
}

func (s system) networkOf(pid int) string { return filepath.Join(s.proc, strconv.Itoa(pid), "ns/net") }

// inode is 0 for what can't be looked at.
func inode(path string) uint64 {
	var stat unix.Stat_t
	if unix.Stat(path, &stat) != nil {
		return 0
	}
	return stat.Ino
}

// noNamespace is the kernel's ID of a namespace that has none from here.
const noNamespace = -1

// namespaceID is this namespace's number for another one.
func namespaceID(path string) int {
	file, err := os.Open(path)
	if err != nil {
		return noNamespace
	}
	defer file.Close()
	id, err := netlink.GetNetNsIdByFd(int(file.Fd()))
	if err != nil {
		return noNamespace
	}
	return id
}

// bridgePorts are the veth interfaces at a bridge; none if there is no such bridge.
func bridgePorts(name string) ([]netlink.Link, error) {
	bridge, err := bridgeNamed(name)
	if bridge == nil || err != nil {
		return nil, err
	}
	links, err := localnet.WholeDump(netlink.LinkList)
	if err != nil {
		return nil, fmt.Errorf("list network interfaces: %w", err)
	}
	var ports []netlink.Link
	for _, link := range links {
		if link.Attrs().MasterIndex == bridge.Attrs().Index && link.Type() == "veth" {
			ports = append(ports, link)
		}
	}
	return ports, nil
}

func bridgePeers(name string) (map[int]bool, error) {
	ports, err := bridgePorts(name)
	peers := map[int]bool{}
	for _, port := range ports {
		peers[port.Attrs().NetNsID] = true
	}
	delete(peers, noNamespace)
	return peers, err
}

func bridgeNamed(name string) (netlink.Link, error) {
	if name == "" {
		return nil, nil
	}
	link, err := netlink.LinkByName(name)
	if _, ok := errors.AsType[netlink.LinkNotFoundError](err); ok {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look for bridge %s: %w", name, err)
	}
	if link.Type() != "bridge" {
		return nil, fmt.Errorf("look for bridge %s: the interface of that name is a %s", name, link.Type())
	}
	return link, nil
}

func findBridge(place Place) ([]Leftover, error) {
	bridge, err := bridgeNamed(place.Bridge)
	if bridge == nil || err != nil {
		return nil, err
	}
	ports, err := bridgePorts(place.Bridge)
	return []Leftover{{Kind: Bridge, Name: place.Bridge, Detail: plain.Count(len(ports), "veth interface")}}, err
}

// sweepBridge removes the bridge with its veth interfaces.
func sweepBridge(name string) error {
	ports, err := bridgePorts(name)
	if err != nil {
		return err
	}
	for _, port := range ports {
		if err := deleteLink(port); err != nil {
			return err
		}
	}
	bridge, err := bridgeNamed(name)
	if bridge == nil || err != nil {
		return err
	}
	return deleteLink(bridge)
}

// deleteLink is content with an interface that is gone already: a veth pair goes
// with the namespace at its other end, which the kernel takes apart on its own
// time.
func deleteLink(link netlink.Link) error {
	err := netlink.LinkDel(link)
	if err != nil && !errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("delete interface %s: %w", link.Attrs().Name, err)
	}
	return nil
}
