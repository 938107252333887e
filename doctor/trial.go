package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// TryOverlay mounts and unmounts in a temporary folder.
func (linux) TryOverlay(folder string) error {
	trial, err := os.MkdirTemp(folder, ".lifepod-doctor-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(trial) }() // a failure leaves an empty folder
	paths := map[string]string{}
	for _, name := range []string{"lower", "upper", "work", "merged"} {
		paths[name] = filepath.Join(trial, name)
		if err := os.Mkdir(paths[name], 0o700); err != nil {
			return err
		}
	}
	data := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", paths["lower"], paths["upper"], paths["work"])
	if err := unix.Mount("overlay", paths["merged"], "overlay", 0, data); err != nil {
		return fmt.Errorf("mount an overlay: %w", err)
	}
	written := os.WriteFile(filepath.Join(paths["merged"], "file"), nil, 0o600)
	return errors.Join(written, unix.Unmount(paths["merged"], unix.MNT_DETACH))
}

// TryBridge leaves nothing: bridge and cable go with their namespace.
func (linux) TryBridge() error {
	return inFreshNetwork(func() error {
		attributes := netlink.NewLinkAttrs()
		attributes.Name = "doctor0"
		bridge := &netlink.Bridge{LinkAttrs: attributes}
		if err := netlink.LinkAdd(bridge); err != nil {
			return fmt.Errorf("make a bridge: %w", err)
		}
		attributes.Name = "doctor1"
		attributes.MasterIndex = bridge.Index
		if err := netlink.LinkAdd(&netlink.Veth{LinkAttrs: attributes, PeerName: "doctor2"}); err != nil {
			return fmt.Errorf("make a veth pair: %w", err)
		}
		return nil
	})
}

// natRules are like those of the pod network (masquerade) and of host ports.
var natRules = map[string][][]string{
	"iptables": {
		{"-w", "-t", "nat", "-A", "POSTROUTING", "-m", "comment", "--comment", "trial", "-j", "MASQUERADE"},
		{"-w", "-t", "nat", "-A", "PREROUTING", "-p", "tcp", "-m", "addrtype", "--dst-type", "LOCAL", "-j", "DNAT", "--to-destination", "192.0.2.1:80"},
	},
	"nft": {
		{"add table ip trial; " +
			"add chain ip trial post { type nat hook postrouting priority 100; }; add rule ip trial post masquerade; " +
			"add chain ip trial pre { type nat hook prerouting priority -100; }; add rule ip trial pre fib daddr type local tcp dport 80 dnat to 192.0.2.1:80"},
	},
}

// TryNAT leaves nothing: the rules go with their namespace.
func (linux) TryNAT(program string) error {
	return inFreshNetwork(func() error {
		for _, arguments := range natRules[program] {
			if out, err := exec.Command(program, arguments...).CombinedOutput(); err != nil {
				line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
				return fmt.Errorf("%s: %w: %s", program, err, line)
			}
		}
		return nil
	})
}

// inFreshNetwork calls in a network namespace of its own. The thread that is in
// it stays locked to its goroutine, so that it ends with it.
func inFreshNetwork(call func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			done <- fmt.Errorf("make a network namespace: %w", err)
			return
		}
		done <- call()
	}()
	return <-done
}
