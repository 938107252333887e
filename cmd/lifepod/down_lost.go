package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/leftovers"
)

// ofRoots are the kinds of leftovers whose names are made from that of their state folder:
// where one is, that folder was a lifepod's.
var ofRoots = []leftovers.Kind{
	leftovers.Cgroup, leftovers.Bridge, leftovers.FilterTable, leftovers.FilterRule,
	leftovers.HostPortRule, leftovers.HostPortChain, leftovers.RunFolder,
}

// endLost ends what is left on the machine of a state folder that somebody has deleted,
// that of a cluster included, or a part of one. It kills: how the pods were to end went with the folder.
func endLost(ctx context.Context, paths bundle.Paths, purges bool) (string, error) {
	_, err := os.Lstat(paths.Root)
	gone, deleted := errors.Is(err, os.ErrNotExist), "deleted in part"
	if gone {
		deleted = "deleted"
	}
	node, err := bundle.Locate(rootfolder.Node.In(paths.Root), "")
	if err != nil {
		return "", err
	}
	n := 0
	for _, of := range []bundle.Paths{node, paths} {
		found, err := leftovers.Find(ctx, host.LeftoverPlace(of))
		if !slices.ContainsFunc(found, func(l leftovers.Leftover) bool { return slices.Contains(ofRoots, l.Kind) }) {
			continue // a folder of somebody else's may have anything in it
		}
		if err != nil {
			return "", err
		}
		if pid := holder(of); pid != 0 {
			return "", fmt.Errorf("%s has been %s, but process %d still uses it: end it first", of.Root, deleted, pid)
		}
		if err := removeRest(ctx, of); err != nil {
			return "", err
		}
		n += len(found)
		if !gone && !purges {
			continue
		}
		if _, err := purge(of); err != nil { // removeRest has made it anew for its lock
			return "", err
		}
	}
	if gone {
		_ = os.Remove(paths.Root) // it may hold the node's alone
	}
	if n == 0 {
		return fmt.Sprintf("There is nothing of lifepod in %s.", paths.Root), nil
	}
	return fmt.Sprintf("%s has been %s. Removed what was left of its pods on this machine: %s.", paths.Root, deleted, plain.Count(n, "leftover")), nil
}

// holder is a process that holds the lock of a deleted state folder; 0: none does.
func holder(paths bundle.Paths) int {
	files, _ := filepath.Glob("/proc/[0-9]*/fd/*") // the pattern is right
	for _, file := range files {
		if target, err := os.Readlink(file); err != nil || target != rootfolder.UsersLock.In(paths.Root)+" (deleted)" {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(file)))); err == nil {
			return pid
		}
	}
	return 0
}
