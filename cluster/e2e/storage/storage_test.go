// Package storage tests the volumes, add-ons and backups of a real lifepod up.
package storage

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

func start(t *testing.T, args ...string) (*instance.Instance, context.Context) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return instance.New(t, instance.Config{Args: args}), ctx
}

// kubectl fails the test if kubectl does.
func kubectl(ctx context.Context, t *testing.T, i *instance.Instance, input string, args ...string) string {
	t.Helper()
	out, err := i.Kubectl(ctx, input, args...)
	assert.Require(t, err == nil, "%v\n%s", err, i.Log())
	return strings.TrimSpace(out)
}

const statefulSet = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - {name: c, image: lifepod.dev/toolbox:1, imagePullPolicy: Never, command: [sh, -c, "echo started >> /data/log; sleep 1h"],
         resources: {limits: {memory: 32Mi}}, volumeMounts: [{name: data, mountPath: /data}]}
  volumeClaimTemplates:
  - metadata: {name: data}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`

// A StatefulSet keeps its data when its pod is deleted, and through kill -9
// and the restore of a backup; the volume goes with the claim. What a manifest of the add-ons has is
// there as long as its file.
func TestStorage(t *testing.T) {
	i, ctx := start(t)
	file := filepath.Join(i.Root, "cluster", "manifests", "addon.yaml")
	addon := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: addon}\n"
	assert.Must(t, os.WriteFile(file, []byte(addon), 0o600))
	kubectl(ctx, t, i, statefulSet, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/db")
	kubectl(ctx, t, i, "", "wait", "--for=create", "cm/addon", "--timeout=60s")
	kubectl(ctx, t, i, "", "delete", "pod", "db-0")
	kubectl(ctx, t, i, "", "wait", "--for=create", "pod/db-0", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "--for=condition=Ready", "pod/db-0", "--timeout=60s")
	text := kubectl(ctx, t, i, "", "exec", "db-0", "--", "cat", "/data/log")
	assert.True(t, text == "started\nstarted", "data of the pods: %q, want that of both", text)

	backup := filepath.Join(i.Root, "backup")
	command(ctx, t, i, "backup", backup)
	kubectl(ctx, t, i, "", "create", "cm", "after")
	i.Kill()
	command(ctx, t, i, "restore", backup, "--force")
	assert.Must(t, i.Run(ctx))
	assert.Deep(t, "what was made after the backup is there", "", kubectl(ctx, t, i, "", "get", "cm", "after", "--ignore-not-found", "-o", "name"))
	kubectl(ctx, t, i, "", "wait", "--for=condition=Ready", "pod/db-0", "--timeout=60s")

	assert.Must(t, os.Remove(file))
	kubectl(ctx, t, i, "", "delete", "sts/db", "pvc/data-db-0")
	kubectl(ctx, t, i, "", "wait", "--for=delete", "pv", "--all", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "--for=delete", "cm/addon", "--timeout=60s")
}

func command(ctx context.Context, t *testing.T, i *instance.Instance, args ...string) {
	t.Helper()
	out, err := exec.CommandContext(ctx, i.Program, append(args, "--root", i.Root)...).CombinedOutput()
	assert.Require(t, err == nil, "lifepod %s: %v: %s", strings.Join(args, " "), err, out)
}

const ofDriver = `
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: disks.example.com}
spec: {attachRequired: true}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  storageClassName: ""
  accessModes: [ReadWriteOnce]
  capacity: {storage: 1Mi}
  csi: {driver: disks.example.com, volumeHandle: disk-1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {storageClassName: "", volumeName: disk, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: pod}
spec:
  terminationGracePeriodSeconds: 1
  volumes: [{name: data, persistentVolumeClaim: {claimName: disk}}]
  containers:
  - {name: c, image: "lifepod.dev/toolbox:1", imagePullPolicy: Never, command: [sleep, 1h], volumeMounts: [{name: data, mountPath: /data}]}
`

// The volume of a driver of somebody else's is to be attached to the node of its pod, and no longer
// when the pod has gone, which waits for the driver meanwhile (A-CSI-4, A-CSI-5).
func TestAttach(t *testing.T) {
	i, ctx := start(t)
	kubectl(ctx, t, i, ofDriver, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "pod/pod", "--for=condition=PodScheduled", "--timeout=1m")
	node := kubectl(ctx, t, i, "", "get", "pod", "pod", "-o", "jsonpath={.spec.nodeName}")
	attachment := fmt.Sprintf("volumeattachment/csi-%x", sha256.Sum256([]byte("disk-1"+"disks.example.com"+node)))
	kubectl(ctx, t, i, "", "wait", attachment, "--for=create", "--timeout=1m")
	kubectl(ctx, t, i, "", "patch", attachment, "--subresource=status", "--type=merge", `--patch={"status": {"attached": true}}`) // as an attacher does
	kubectl(ctx, t, i, "", "delete", "pod", "pod", "--timeout=1m")
	kubectl(ctx, t, i, "", "wait", attachment, "--for=delete", "--timeout=1m")
}
