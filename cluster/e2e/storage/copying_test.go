package storage

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

// muchData takes long enough to copy, and to get to the disk, that there is a middle.
const muchData = 96 << 20

// killedWhileCopying: lifepod up is killed in the middle of a clone, and of a snapshot. The next one
// makes each once, from the beginning; the pod of the source writes on, whose file system was frozen.
// All of it is deleted in the end.
func killedWhileCopying(ctx context.Context, t *testing.T, i *instance.Instance) {
	t.Helper()
	before, loopsBefore := volumeThings(i)
	kubectl(ctx, t, i, workload("source", instance.Node, "null"), "apply", "-f", "-")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/source", "--timeout=60s")
	want := fill(t, mountOf(ctx, t, i, i.Root, "source"))

	kubectl(ctx, t, i, workload("clone", instance.Node, "{kind: PersistentVolumeClaim, name: source}"), "apply", "-f", "-")
	killInTheMiddle(ctx, t, i, "volumes")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/clone", "--timeout=60s")
	assert.True(t, sum(t, filepath.Join(mountOf(ctx, t, i, i.Root, "clone"), "data")) == want, "the clone has other data than its source")
	kubectl(ctx, t, i, strings.Replace(snapshotOf, "data-db-0", "source", 1), "apply", "-f", "-")
	killInTheMiddle(ctx, t, i, "snapshots")
	kubectl(ctx, t, i, "", "wait", "volumesnapshot/before", "--for=jsonpath={.status.readyToUse}=true", "--timeout=60s")
	kubectl(ctx, t, i, "", "exec", "source-0", "--", "sh", "-c", "echo after >> /data/log")

	volumes := len(strings.Fields(kubectl(ctx, t, i, "", "get", "pv", "-o", "name")))
	for kind, want := range map[string]int{"volumes": volumes, "snapshots": 1} {
		list := stored(t, i.Root, kind)
		assert.True(t, len(list) == want, "%s: %q, want %d", kind, list, want)
	}
	_, loops := volumeThings(i)
	assert.True(t, len(loops) == len(loopsBefore)+2, "loop devices: %q, want two more than %q", loops, loopsBefore)
	made := strings.Fields(kubectl(ctx, t, i, "", "get", "pvc", "source", "clone", "-o", "jsonpath=pv/{.items[0].spec.volumeName} pv/{.items[1].spec.volumeName}"))
	kubectl(ctx, t, i, "", "delete", "sts/source", "sts/clone", "pvc/source", "pvc/clone", "volumesnapshot/before")
	kubectl(ctx, t, i, "", append([]string{"wait", "--for=delete", "--timeout=60s"}, made...)...)
	after, _ := volumeThings(i)
	assert.True(t, len(after) == len(before), "mounts: %q, want %q", after, before)
}

// killInTheMiddle kills lifepod up while it makes a volume or a snapshot, and starts it again.
func killInTheMiddle(ctx context.Context, t *testing.T, i *instance.Instance, kind string) {
	t.Helper()
	unfinished := filepath.Join(i.Root, "volume-images", kind, ".new-*", "image")
	for found := false; !found; time.Sleep(time.Millisecond) {
		assert.Require(t, ctx.Err() == nil, "nothing is made in %s", unfinished)
		images := assert.Get(filepath.Glob(unfinished)).Must(t)
		found = len(images) > 0
	}
	time.Sleep(10 * time.Millisecond)
	i.Kill()
	images, err := filepath.Glob(unfinished)
	assert.Require(t, err == nil && len(images) == 1, "lifepod up was not killed in the middle of a copy: %q (%v)", images, err)
	assert.Must(t, i.Run(ctx))
}

// stored is the volumes or snapshots below a root, whole or not.
func stored(t *testing.T, root, kind string) (names []string) {
	t.Helper()
	entries := assert.Get(os.ReadDir(filepath.Join(root, "volume-images", kind))).Must(t)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// mountOf is where a claim's volume is mounted for its pod, on the node of a root.
func mountOf(ctx context.Context, t *testing.T, i *instance.Instance, root, claim string) string {
	t.Helper()
	volume := kubectl(ctx, t, i, "", "get", "pvc", claim, "-o", "jsonpath={.spec.volumeName}")
	found, err := filepath.Glob(filepath.Join(root, "node", "pods", "*", "volumes", "kubernetes.io~csi", volume, "mount"))
	assert.Require(t, err == nil && len(found) == 1, "mounts of volume %s: %q (%v)", volume, found, err)
	return found[0]
}

// fill writes much data, and returns its sum.
func fill(t *testing.T, dir string) (digest [sha256.Size]byte) {
	t.Helper()
	file := assert.Get(os.Create(filepath.Join(dir, "data"))).Must(t)
	hash := sha256.New()
	_, err := io.CopyN(io.MultiWriter(file, hash), rand.Reader, muchData)
	if err == nil {
		err = file.Close()
	}
	assert.Must(t, err)
	return [sha256.Size]byte(hash.Sum(nil))
}

// sum is that of what fill has written.
func sum(t *testing.T, path string) [sha256.Size]byte {
	t.Helper()
	file := assert.Get(os.Open(path)).Must(t)
	defer func() { _ = file.Close() }()
	hash := sha256.New()
	assert.Must(t, assert.ErrorOf(io.Copy(hash, file)))
	return [sha256.Size]byte(hash.Sum(nil))
}
