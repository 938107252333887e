package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/host"
	"github.com/lifepod/lifepod/unattended"
	"github.com/lifepod/lifepod/worker/criconfig"
	"github.com/lifepod/lifepod/worker/podcgroup"
	"github.com/lifepod/lifepod/worker/volumes"
)

// sweepTimeout bounds the calls for one pod that is swept up.
const sweepTimeout = 30 * time.Second

// sweepOne removes what is left of a pod that nobody can go on with, killing what runs
// of it, and then its record.
func sweepOne(ctx context.Context, r *host.Runtime, left *record, warn warner) error {
	pod := left.Namespace + "/" + left.Name
	ctx, cancel := context.WithTimeout(ctx, sweepTimeout)
	defer cancel()
	slow := time.AfterFunc(time.Second, func() {
		warn("waiting for what the runtime may still be making of pod %s, whose lifepod run was killed", pod)
	})
	defer slow.Stop()
	if err := sweepRetrying(ctx, r, left); err != nil {
		return fmt.Errorf("remove what is left of pod %s, whose lifepod run was killed: %w", pod, err)
	}
	left.remove()
	return nil
}

// forgetUnbegun removes the records of pods whose lifepod was killed before it had
// begun with them: there is nothing to go on with, and nothing that runs.
func forgetUnbegun(ctx context.Context, r *host.Runtime) {
	list, _ := records(r.Root) // what can't be listed stays
	for _, known := range list {
		if known.Name == "" || known.Endpoint != r.Endpoint || begun(r.Root, known.UID) || known.held() {
			continue
		}
		left, err := abandoned(known.path)
		if err != nil || left == nil {
			continue
		}
		if _, err := sweepPod(ctx, r, left); err == nil {
			left.remove()
			continue
		}
		left.leave()
	}
}

// besideRecord is how the names of the files end that belong to a record.
var besideRecord = []string{".pod", ".checkpoint", ".shown"}

// forgetScraps removes the files of records that lifepods were killed while making: what
// is not complete, or belongs to no record. Files of others stay.
func forgetScraps(root string) error {
	if _, err := os.Stat(recordsDir(root)); errors.Is(err, os.ErrNotExist) {
		return nil // the state folder is new
	}
	release, err := lockNames(root) // nobody makes a record meanwhile
	if err != nil {
		return err
	}
	defer release()
	entries, err := os.ReadDir(recordsDir(root))
	for _, entry := range entries {
		uid, kind, _ := strings.Cut(entry.Name(), ".") // no UID: it is not complete
		if uid == "" && !strings.HasPrefix(entry.Name(), newPrefix) || uid != "" && !slices.Contains(besideRecord, "."+kind) {
			continue // not ours
		}
		if _, e := os.Lstat(filepath.Join(recordsDir(root), uid+".json")); errors.Is(e, os.ErrNotExist) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(recordsDir(root), entry.Name())))
		}
	}
	return err
}

// begun says whether anything was done for a pod. Its checkpoint is saved before.
func begun(root string, uid types.UID) bool {
	return slices.ContainsFunc([]string{checkpointPath(recordsDir(root), uid), filepath.Join(host.PodsDir(root), string(uid))}, func(path string) bool {
		_, err := os.Lstat(path)
		return !errors.Is(err, os.ErrNotExist)
	})
}

// A runtime is busy for a while with a call whose caller was killed: what it
// makes is in no list before it is complete, and can't be removed.
const (
	sweepRetry  = 100 * time.Millisecond
	stillMaking = 5 * time.Second // since the pod's record was made
)

// sweepRetrying sweeps a pod up, again for as long as its runtime may be busy
// with it.
func sweepRetrying(ctx context.Context, r *host.Runtime, left *record) error {
	giveUpAt := time.Now().Add(stillMaking)
	for {
		found, err := sweepPod(ctx, r, left)
		if err == nil && found {
			return nil
		}
		busy := time.Now().Before(left.written.Add(stillMaking)) && time.Now().After(left.written)
		if err == nil && !busy {
			return r.KillStrays(ctx)
		}
		if err != nil && time.Now().After(giveUpAt) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(sweepRetry):
		}
	}
}

// sweepPod kills what runs of the pod and gives everything back, in the order
// of a pod's end. It reports whether the runtime had anything of the pod.
func sweepPod(ctx context.Context, r *host.Runtime, left *record) (found bool, err error) {
	n, err := unattended.Ending{
		Foreign: func(uid types.UID) bool { return uid != left.UID }, Grace: new(time.Duration), Log: slog.New(slog.DiscardHandler),
	}.End(ctx, r)
	if err != nil {
		return true, err
	}
	errs := []error{
		volumes.Remove(filepath.Join(host.PodsDir(r.Root), string(left.UID))),
		podcgroup.Driver{Parent: r.CgroupParent, Systemd: r.Systemd}.Remove(ctx, left.UID),
		removeLogs(r.Root, left.UID),
	}
	if r.IPAMDir != "" {
		errs = append(errs, criconfig.ReleaseAddress(r.IPAMDir, left.UID))
	}
	return n > 0, errors.Join(errs...)
}

// removeLogs removes the logs of a pod of which only the UID is known for sure.
func removeLogs(root string, uid types.UID) error {
	entries, err := os.ReadDir(host.LogRoot(root))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), "_"+string(uid)) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(host.LogRoot(root), entry.Name())))
		}
	}
	return err
}
