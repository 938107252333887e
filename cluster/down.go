package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lifepod/lifepod/cluster/kubeconfig"
	"github.com/lifepod/lifepod/cluster/ownlink"
	"github.com/lifepod/lifepod/cluster/proxy"
	"github.com/lifepod/lifepod/cluster/routes"
	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/leftovers"
	"github.com/lifepod/lifepod/node"
	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/localdriver"
	local "github.com/lifepod/lifepod/run"
	"github.com/lifepod/lifepod/unattended"
)

type DownOptions struct {
	Purge bool           // what it has on disk as well
	Grace *time.Duration // replaces the grace of each pod; nil: each pod keeps its own
}

// endPatience is how long the process may take to end, killPatience how long after it
// was killed: what was acknowledged is on disk, as after kill -9.
const (
	endPatience  = time.Minute
	killPatience = 10 * time.Second
)

// Down ends the process of a cluster, or of a node that has joined one, and its pods on
// this machine, and says what it did. It is no error if there is nothing to end.
func Down(ctx context.Context, c Config, o DownOptions) (string, error) {
	l, err := c.layout()
	if err != nil {
		return "", err
	}
	if os.Geteuid() != 0 {
		return "", errors.New("only root may end pods: run it with sudo")
	}
	if !l.exists() {
		if l, err = c.joined(); err != nil {
			return "", err
		}
		if !l.exists() {
			return fmt.Sprintf("There is no cluster in %s.", l.Root), nil
		}
	}
	ended, err := l.endProcess(ctx, endPatience)
	if err != nil {
		return "", err
	}
	release, err := l.lock() // nobody begins meanwhile
	if err != nil {
		return "", err
	}
	defer release()
	pods, err := l.endPods(ctx, o.Grace)
	if err != nil {
		return "", err
	}
	if err := proxy.Remove(ctx, proxy.Table(l.paths)); err != nil {
		return "", err
	}
	if err := errors.Join(l.removeRoutes(), ownlink.Remove(ownLink(l.paths)), unlink(kubeletFolder, l.nodeRoot())); err != nil {
		return "", err
	}
	what := "pods"
	if pods == 1 {
		what = "pod"
	}
	did := fmt.Sprintf("Ended %s and %d %s.", ended, pods, what)
	if ended == noProcess && pods == 0 {
		did = "Nothing runs here: there was no process and no pod to end."
	}
	if o, err := l.outerBefore(); err == nil && len(o.Endpoints) > 0 {
		did += fmt.Sprintf(" The state on the etcd at %s stays.", o)
	}
	if !o.Purge {
		return did, nil
	}
	free, err := l.paths.Exclude()
	if err != nil {
		return "", fmt.Errorf("%s The state is not removed: %w", did, err)
	}
	stays := l.nodeStays()
	err = errors.Join(kubeconfig.Remove(l.file("kubeconfig")), os.RemoveAll(l.Root))
	if err = errors.Join(err, free()); err != nil {
		return "", fmt.Errorf("%s Remove the state: %w", did, err)
	}
	return did + " Removed " + l.Root + "." + stays, nil
}

func (l *layout) exists() bool {
	_, err := os.Stat(l.file(""))
	return !errors.Is(err, os.ErrNotExist)
}

// removeRoutes removes those to the pods of other nodes.
func (l *layout) removeRoutes() (err error) {
	if l.folder == rootfolder.Join {
		var n join.Network
		n, err = join.Folder{Dir: l.file("")}.Network()
		l.pods = n.Pods
	} else {
		l.pods, err = l.chosenRange("pods", podRanges)
	}
	if err != nil || !l.pods.IsValid() {
		return err
	}
	return routes.Remove(l.pods)
}

// nodeStays says what a machine that leaves its cluster can't remove itself: no node
// may delete Nodes.
func (l *layout) nodeStays() string {
	name, err := os.ReadFile(l.file(nodeNameFile))
	if l.folder != rootfolder.Join || err != nil {
		return ""
	}
	return fmt.Sprintf(" The cluster still has the Node: remove it there with kubectl delete node %s", strings.TrimSpace(string(name)))
}

const noProcess = "no process"

// endProcess ends the process that runs the cluster, by KILL if it doesn't end by itself,
// and says which one it was.
func (l *layout) endProcess(ctx context.Context, patience time.Duration) (string, error) {
	pid, err := l.process()
	if err != nil {
		return "", err
	}
	if pid == 0 {
		return noProcess, nil
	}
	ended, err := l.endBy(ctx, pid, syscall.SIGTERM, patience)
	if err != nil || ended {
		return fmt.Sprintf("process %d", pid), err
	}
	if ended, err = l.endBy(ctx, pid, syscall.SIGKILL, killPatience); err == nil && !ended {
		err = fmt.Errorf("process %d does not end, not even by KILL: see %s", pid, l.file("log"))
	}
	return fmt.Sprintf("process %d, which had to be killed after %v,", pid, patience), err
}

// endBy sends the process a signal and says whether it has ended in time.
func (l *layout) endBy(ctx context.Context, pid int, signal syscall.Signal, patience time.Duration) (bool, error) {
	if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		return false, fmt.Errorf("end process %d: %w", pid, err)
	}
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	ticker := time.NewTicker(20 * time.Millisecond) // a lock tells nobody that it is free
	defer ticker.Stop()
	for {
		if now, err := l.process(); err != nil || now != pid {
			return true, err
		}
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-deadline.C:
			return false, nil
		case <-ticker.C:
		}
	}
}

// endPods ends every pod of the root's runtime, and unmounts what they had.
func (l *layout) endPods(ctx context.Context, grace *time.Duration) (n int, err error) {
	runtime, err := host.Open(ctx, l.Root, "", l.Log)
	if err != nil {
		return 0, err
	}
	defer func() {
		closing, done := context.WithTimeout(context.WithoutCancel(ctx), node.CloseTimeout)
		defer done()
		err = errors.Join(err, runtime.Close(closing), l.unmount(closing))
	}()
	return unattended.Ending{
		Kept:  slices.Concat(local.Kept(l.Root, runtime.Endpoint), node.Kept(l.Root, runtime.Endpoint)),
		Grace: grace, Because: "lifepod down", Log: l.Log,
	}.End(ctx, runtime)
}

// unmount unmounts volumes of pods; what is in them, and in their folders, stays.
func (l *layout) unmount(ctx context.Context) error {
	local := localdriver.Release(rootfolder.VolumeImages.In(l.Root))
	all, err := leftovers.Find(ctx, leftovers.Place{Root: l.nodeRoot()})
	if err != nil {
		return fmt.Errorf("find the pods' mounts: %w", err)
	}
	var mounts []leftovers.Leftover
	for _, found := range all {
		if found.Kind == leftovers.Mount && strings.HasPrefix(found.Name, l.nodeRoot()+"/") {
			mounts = append(mounts, found)
		}
	}
	return errors.Join(local, leftovers.Sweep(ctx, mounts), node.Unmounted(l.nodeRoot()))
}
