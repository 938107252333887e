package storage

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

// database is a StatefulSet like PostgreSQL's: it writes what it has to keep, in a folder below its
// volume.
const database = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      securityContext: {runAsUser: 999, fsGroup: 999}
      containers:
      - {name: c, image: lifepod.dev/toolbox:1, imagePullPolicy: Never,
         command: [sh, -c, "mkdir -p /data/pgdata && echo $HOSTNAME started >> /data/pgdata/log && sleep 1h"],
         volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 32Mi}}}
`

const snapshotOf = `
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: before}
spec: {source: {persistentVolumeClaimName: data-db-0}}
`

// reader is a pod with a claim whose volume is a copy of a source.
const reader = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: 64Mi}}
  dataSource: SOURCE
---
apiVersion: v1
kind: Pod
metadata: {name: NAME}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]
  containers:
  - {name: c, image: "lifepod.dev/toolbox:1", imagePullPolicy: Never, command: [sleep, 1h], volumeMounts: [{name: data, mountPath: /data}]}
`

// startReader is a pod with a copy of a source, and what it finds in the log of the database.
func startReader(ctx context.Context, t *testing.T, i *instance.Instance, name, source string) string {
	t.Helper()
	kubectl(ctx, t, i, strings.NewReplacer("NAME", name, "SOURCE", source).Replace(reader), "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "pod/"+name, "--for=condition=Ready", "--timeout=60s")
	return kubectl(ctx, t, i, "", "exec", name, "--", "cat", "/data/pgdata/log")
}

// A StatefulSet on volumes of the driver: a snapshot has what was written before it, a clone all; a
// volume grows while it is used, a pod can't write more than it claimed, and nothing is left when the claims are deleted.
func TestLocalVolumes(t *testing.T) {
	i, ctx := start(t)
	kubectl(ctx, t, i, database, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/db")
	assert.Deep(t, "log of db-0", "db-0 started", kubectl(ctx, t, i, "", "exec", "db-0", "--", "cat", "/data/pgdata/log"))
	kubectl(ctx, t, i, "", "wait", "--for=create", "crd/volumesnapshots.snapshot.storage.k8s.io", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "--for=create", "volumesnapshotclass/local", "--timeout=60s")
	kubectl(ctx, t, i, snapshotOf, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "volumesnapshot/before", "--for=jsonpath={.status.readyToUse}=true", "--timeout=60s")

	kubectl(ctx, t, i, "", "delete", "pod", "db-0")
	kubectl(ctx, t, i, "", "wait", "--for=create", "pod/db-0", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "--for=condition=Ready", "pod/db-0", "--timeout=60s")
	got := startReader(ctx, t, i, "restored", "{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: before}")
	assert.True(t, got == "db-0 started", "the snapshot has %q, want what was written before it", got)
	got = startReader(ctx, t, i, "clone", "{kind: PersistentVolumeClaim, name: data-db-0}")
	assert.True(t, got == "db-0 started\ndb-0 started", "the clone has %q, want what was written by both pods", got)

	assert.Fails(t, assert.ErrorOf(i.Kubectl(ctx, "", "exec", "db-1", "--", "sh", "-c", "cat /dev/zero > /data/pgdata/fill")), "a volume has no end")
	size, err := strconv.Atoi(kubectl(ctx, t, i, "", "exec", "db-1", "--", "stat", "-c", "%s", "/data/pgdata/fill"))
	assert.True(t, err == nil && size <= 32<<20 && size >= 16<<20, "a volume of 32Mi holds a file of %d bytes (%v)", size, err)
	kubectl(ctx, t, i, "", "exec", "db-1", "--", "rm", "/data/pgdata/fill")

	kubectl(ctx, t, i, "", "delete", "sts/db", "pod/restored", "pod/clone", "volumesnapshot/before")
	kubectl(ctx, t, i, "", "delete", "pvc", "--all")
	kubectl(ctx, t, i, "", "wait", "--for=delete", "pv", "--all", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "--for=delete", "volumesnapshotcontent", "--all", "--timeout=60s")
	for _, kind := range []string{"volumes", "snapshots"} {
		left, err := os.ReadDir(filepath.Join(i.Root, "volume-images", kind))
		assert.True(t, err == nil && len(left) == 0, "left of %s: %v %v", kind, left, err)
	}
}

const raw = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: raw}
spec:
  accessModes: [ReadWriteOnce]
  volumeMode: Block
  resources: {requests: {storage: 32Mi}}
---
apiVersion: v1
kind: Pod
metadata: {name: raw}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: raw}}]
  containers:
  - {name: c, image: "lifepod.dev/toolbox:1", imagePullPolicy: Never, command: [sleep, 1h], volumeDevices: [{name: data, devicePath: /dev/data}]}
`

// A block device grows while a pod uses it. The node looks once a minute.
func TestLocalVolumeGrows(t *testing.T) {
	i, ctx := start(t)
	kubectl(ctx, t, i, raw, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "pod/raw", "--for=condition=Ready", "--timeout=60s")
	kubectl(ctx, t, i, "", "patch", "pvc/raw", "--type=merge", `--patch={"spec": {"resources": {"requests": {"storage": "64Mi"}}}}`)
	kubectl(ctx, t, i, "", "wait", "pvc/raw", "--for=jsonpath={.status.capacity.storage}=64Mi", "--timeout=60s")
	got := kubectl(ctx, t, i, "", "exec", "raw", "--", "sh", "-c", "cat /dev/data | wc -c")
	assert.True(t, got == "67108864", "the device has %s bytes, want 67108864", got)
}
