package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/moby/sys/mountinfo"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/run"
	"github.com/lifepod/lifepod/unattended"
)

// downOptions say what of a state folder without a cluster ends, and how.
type downOptions struct {
	root  string
	purge bool           // what is on disk as well
	grace *time.Duration // replaces the grace of each pod; nil: each pod keeps its own
	log   *slog.Logger
}

// endsWithin is how long a lifepod whose last pod has ended may take to let go of the folder: after lifepod stop nobody wants to wait for it.
const endsWithin = 2 * time.Second

// endFolder ends all pods of a state folder that nobody attends to, and says what it did. It
// refuses while a lifepod uses the folder.
func endFolder(ctx context.Context, o downOptions) (string, error) {
	if os.Geteuid() != 0 {
		return "", errors.New("only root may end pods: run it with sudo")
	}
	paths, err := bundle.Locate(o.root, "")
	if err != nil {
		return "", err
	}
	if !isRoot(paths.Root) {
		return endLost(ctx, paths, o.purge)
	}
	release, err := excludeLifepods(paths)
	for until := time.Now().Add(endsWithin); errors.Is(err, bundle.ErrInUse) && time.Now().Before(until) && ctx.Err() == nil; {
		time.Sleep(endsWithin / 40)
		release, err = excludeLifepods(paths)
	}
	if errors.Is(err, bundle.ErrInUse) {
		return "", fmt.Errorf("a lifepod uses %s: end it first; %s lists its pods, %s ends one", paths.Root,
			bundle.Command(o.root, "ps"), bundle.Command(o.root, "stop POD"))
	}
	if err == nil {
		err = release() // the runtime wants it for itself
	}
	if err != nil {
		return "", err
	}
	pods, err := endPods(ctx, paths, o)
	if err != nil {
		return "", err
	}
	if err := removeRest(ctx, paths); err != nil {
		return "", err
	}
	did := "Ended " + plain.Count(pods, "pod") + "."
	if pods == 0 {
		did = "There was no pod to end."
	}
	if stay := elsewhere(paths); len(stay) > 0 {
		did += " Pods on another runtime stay: " + strings.Join(stay, ", ") + "."
		if o.purge {
			return "", fmt.Errorf("%s Their files are not removed: end them first", did)
		}
	}
	if !o.purge {
		return did, nil
	}
	removed, err := purge(paths)
	if err != nil {
		return "", fmt.Errorf("%s Remove %s: %w", did, paths.Root, err)
	}
	return did + " " + removed, nil
}

// isRoot says whether a folder is one that lifepods have used.
func isRoot(folder string) bool {
	for _, e := range []rootfolder.Entry{rootfolder.UsersLock, rootfolder.Runs, rootfolder.Agents} {
		if _, err := os.Lstat(e.In(folder)); err == nil {
			return true
		}
	}
	return false
}

// elsewhere names the pods on other runtimes, which are not the root's to end.
func elsewhere(paths bundle.Paths) (names []string) {
	for _, p := range leftIn(paths.Root) {
		if p.Endpoint != "unix://"+paths.Socket() {
			names = append(names, fmt.Sprintf("%s (%s)", p.FullName(), p.Endpoint))
		}
	}
	return names
}

// endPods ends what runs on the root's runtime, each pod as its own lifepod would have.
func endPods(ctx context.Context, paths bundle.Paths, o downOptions) (n int, err error) {
	if len(paths.LiveSandboxes()) == 0 {
		return 0, nil
	}
	runtime, err := host.Open(ctx, paths.Root, "", o.log)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, closeRuntime(ctx, runtime)) }()
	return unattended.Ending{
		Kept:  slices.Concat(run.Kept(runtime.Root, runtime.Endpoint), node.Kept(runtime.Root, runtime.Endpoint)),
		Grace: o.grace, Because: "lifepod down", Log: o.log,
	}.End(ctx, runtime)
}

// excludeLifepods keeps lifepods from a root until release is called. It fails with
// [bundle.ErrInUse] while one uses it, also one whose pods are on another runtime.
func excludeLifepods(paths bundle.Paths) (release func() error, err error) {
	release, err = paths.Exclude()
	if err != nil {
		return nil, err
	}
	used, err := leftovers.InUse(host.LeftoverPlace(paths))
	if err == nil && (used || node.Running(paths.Root)) {
		err = fmt.Errorf("%s: %w", paths.Root, bundle.ErrInUse)
	}
	if err != nil {
		return nil, errors.Join(err, release())
	}
	return release, nil
}

// removeRest removes what pods had beside their processes: folders, records, addresses.
func removeRest(ctx context.Context, paths bundle.Paths) (err error) {
	release, err := excludeLifepods(paths)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	found, err := leftovers.Find(ctx, host.LeftoverPlace(paths))
	found = slices.DeleteFunc(found, func(l leftovers.Leftover) bool { return l.Kind == leftovers.ForeignPod })
	if err == nil {
		err = leftovers.Sweep(ctx, found)
	}
	return errors.Join(err, node.Forget(ctx, paths.Root, "unix://"+paths.Socket()))
}

// purge removes what is lifepod's of a state folder, and the folder if nothing else is
// in it. It says what it did.
func purge(paths bundle.Paths) (string, error) {
	release, err := excludeLifepods(paths)
	if err != nil {
		return "", err
	}
	mounts, err := mountinfo.GetMounts(mountinfo.PrefixFilter(paths.Root))
	for _, m := range mounts {
		if m.Mountpoint != paths.Root {
			err = errors.Join(err, fmt.Errorf("%s is mounted there: unmount it first", m.Mountpoint))
		}
	}
	if err != nil {
		return "", errors.Join(err, release())
	}
	for _, name := range rootfolder.Entries() {
		err = errors.Join(err, os.RemoveAll(name.In(paths.Root)))
	}
	for _, name := range rootfolder.Shared {
		_ = os.Remove(name.In(paths.Root)) // what others have there stays, and is named below
	}
	if err = errors.Join(err, release()); err != nil {
		return "", err
	}
	if err := os.Remove(paths.Root); err == nil || errors.Is(err, fs.ErrNotExist) {
		return "Removed " + paths.Root + ".", nil
	}
	others, err := os.ReadDir(paths.Root)
	var names []string
	for _, entry := range others {
		names = append(names, entry.Name())
	}
	if len(names) == 0 { // it is a mount point
		return "Removed all in " + paths.Root + ".", err
	}
	return fmt.Sprintf("Removed what is lifepod's in %s. What is left there: %s.", paths.Root, strings.Join(names, ", ")), err
}
