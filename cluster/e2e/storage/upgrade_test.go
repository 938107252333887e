package storage

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/internal/assert"
)

// Before there was a driver, volumes were folders: this is what such a lifepod had in the API, where
// NAME has a pod on n1 with a claim of the default class.
const (
	earlierClass = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: local, annotations: {storageclass.kubernetes.io/is-default-class: "true"}}
provisioner: lifepod.dev/local
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: false
allowedTopologies: [{matchLabelExpressions: [{key: kubernetes.io/hostname, values: [n1]}]}]
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: users}
provisioner: lifepod.dev/local
volumeBindingMode: WaitForFirstConsumer
`
	earlierVolume = `
apiVersion: v1
kind: PersistentVolume
metadata:
  name: pvc-UID
  annotations: {pv.kubernetes.io/provisioned-by: lifepod.dev/local}
  finalizers: [external-provisioner.volume.kubernetes.io/finalizer]
spec:
  capacity: {storage: 256Mi}
  local: {path: FOLDER}
  accessModes: [ReadWriteOnce]
  claimRef: {apiVersion: v1, kind: PersistentVolumeClaim, namespace: default, name: NAME, uid: UID}
  persistentVolumeReclaimPolicy: Delete
  storageClassName: local
  nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [n1]}]}]}}
`
)

// withoutDriver are the flags of a lifepod up that is like one of those.
var withoutDriver = []string{"--disable", "volumes,folder-volumes,snapshots"}

// earlier is a pod with a folder, as an earlier lifepod has left it: the folder is returned.
func earlier(ctx context.Context, t *testing.T, i *instance.Instance, name string) (folder string) {
	t.Helper()
	kubectl(ctx, t, i, earlierClass, "apply", "-f", "-")
	kubectl(ctx, t, i, workload(name, instance.Node, "null"), "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "pvc/"+name, `--for=jsonpath={.metadata.annotations.volume\.kubernetes\.io/selected-node}=n1`, "--timeout=60s")
	uid := kubectl(ctx, t, i, "", "get", "pvc", name, "-o", "jsonpath={.metadata.uid}")
	folder = filepath.Join(i.Root, "volumes", "pvc-"+uid+"_default_"+name)
	assert.Must(t, os.MkdirAll(folder, 0o700))
	assert.Must(t, os.Chmod(folder, 0o777))
	kubectl(ctx, t, i, strings.NewReplacer("NAME", name, "UID", uid, "FOLDER", folder).Replace(earlierVolume), "create", "-f", "-")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/"+name, "--timeout=60s")
	return folder
}

// upgraded: a pod with a folder goes on with it, and with its claim the folder goes; new claims have
// volumes of the driver, of the class of lifepod and of those that users have made.
func upgraded(ctx context.Context, t *testing.T, i *instance.Instance, name, folder string) {
	t.Helper()
	kubectl(ctx, t, i, "", "wait", "sc/local", "--for=jsonpath={.provisioner}=local.csi.lifepod.dev", "--timeout=60s")
	kubectl(ctx, t, i, "", "delete", "pod", name+"-0")
	kubectl(ctx, t, i, "", "wait", "--for=create", "pod/"+name+"-0", "--timeout=60s") // the StatefulSet's status may be of the one before
	kubectl(ctx, t, i, "", "wait", "--for=condition=Ready", "pod/"+name+"-0", "--timeout=60s")
	kubectl(ctx, t, i, "", "exec", name+"-0", "--", "sh", "-c", `until [ "$(wc -l < /data/log)" -ge 2 ]; do sleep 0.1; done`)
	log, err := os.ReadFile(filepath.Join(folder, "log"))
	assert.True(t, err == nil && string(log) == name+"\n"+name+"\n", "the folder has %q (%v), want what both pods have written", log, err)
	users := strings.Replace(workload("users", instance.Node, "null"), "spec:\n  accessModes", "spec:\n  storageClassName: users\n  accessModes", 1)
	kubectl(ctx, t, i, users, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/users", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "pv", "--all", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
	drivers := kubectl(ctx, t, i, "", "get", "pv", "-o", `jsonpath={range .items[*]}{.spec.claimRef.name}={.spec.csi.driver} {end}`)
	for _, want := range []string{name + "= ", "users=local.csi.lifepod.dev "} {
		assert.True(t, strings.Contains(drivers+" ", want), "drivers of volumes: %s, want %s", drivers, want)
	}
	kubectl(ctx, t, i, "", "delete", "sts/"+name, "pvc/"+name)
	kubectl(ctx, t, i, "", "wait", "--for=delete", "pv/"+strings.SplitN(filepath.Base(folder), "_", 2)[0], "--timeout=60s")
	assert.ErrorIs(t, os.ErrNotExist, assert.ErrorOf(os.Stat(folder)), "the folder is there after its claim was deleted")
}
