package storage

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/e2e/neighbour"
	"github.com/lifepod/lifepod/e2e/cable"
	"github.com/lifepod/lifepod/internal/assert"
)

// Addresses of this machine and of the other one on the cable between them, from the range for
// tests of networks (RFC 2544).
const near, far = "198.18.74.1", "198.18.74.2"

// startWithNeighbour is a cluster of two machines: lifepod up, and a node that has joined it.
func startWithNeighbour(t *testing.T, flags ...string) (*instance.Instance, *neighbour.Neighbour, context.Context) {
	t.Helper()
	n := neighbour.New(t, neighbour.Config{Cable: "lpvolumes0", Near: near, Far: far}) // first: the cluster listens on the cable
	i, ctx := start(t, append([]string{"--listen", cable.FreePort(t, near)}, flags...)...)
	n.Joins(ctx, i, instance.Configuration)
	kubectl(ctx, t, i, "", "wait", "--for=create", "node/"+neighbour.Node, "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "--for=condition=Ready", "node/"+neighbour.Node, "--timeout=60s")
	return i, n, ctx
}

// placed is a claim, and a pod that writes to its volume, on a node.
const placed = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: SIZE}}
  dataSource: SOURCE
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: NAME}
spec:
  serviceName: NAME
  selector: {matchLabels: {app: NAME}}
  template:
    metadata: {labels: {app: NAME}}
    spec:
      nodeSelector: {kubernetes.io/hostname: NODE}
      terminationGracePeriodSeconds: 1
      volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]
      containers:
      - {name: c, image: "lifepod.dev/toolbox:1", imagePullPolicy: Never, command: [sh, -c, "echo NAME >> /data/log; sleep 1h"], volumeMounts: [{name: data, mountPath: /data}]}
`

const fromSnapshot = "{apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: before}"

// workload is a pod on a node with a volume, whose content is of a source; that is null for none, and smaller.
func workload(name, node, source string) string {
	size := "256Mi"
	if source != "null" {
		size = "384Mi"
	}
	return strings.NewReplacer("NAME", name, "NODE", node, "SOURCE", source, "SIZE", size).Replace(placed)
}

// preferring is a workload whose pod may be on any node, and that had better be on one.
func preferring(name, node, source string) string {
	only := "nodeSelector: {kubernetes.io/hostname: " + node + "}"
	rather := "affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: 100, preference: {matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [" + node + "]}]}}]}}"
	return strings.Replace(workload(name, node, source), only, rather, 1)
}

// place starts a workload, and returns what is in the log of its pod then.
func place(ctx context.Context, t *testing.T, i *instance.Instance, name, manifest string) string {
	t.Helper()
	kubectl(ctx, t, i, manifest, "apply", "-f", "-")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/"+name, "--timeout=60s")
	return strings.ReplaceAll(kubectl(ctx, t, i, "", "exec", name+"-0", "--", "cat", "/data/log"), "\n", " ")
}

// driversOf is the drivers that are registered on a node.
func driversOf(ctx context.Context, t *testing.T, i *instance.Instance, node string) string {
	t.Helper()
	return kubectl(ctx, t, i, "", "get", "csinode", node, "-o", "jsonpath={.spec.drivers[*].name}")
}

// A cluster of two machines is of a lifepod without the driver: neither serves it. Then it is of
// this one: folders that were volumes go on, and each machine has volumes of the driver.
func TestTwoMachines(t *testing.T) {
	i, n, ctx := startWithNeighbour(t, withoutDriver...)
	kubectl(ctx, t, i, "", "wait", "--for=create", "csinode/"+neighbour.Node, "--timeout=60s")
	folder := earlier(ctx, t, i, "old")
	for _, node := range []string{instance.Node, neighbour.Node} {
		assert.Deep(t, fmt.Sprintf("drivers on %s in a cluster without CSIDriver", node), "", driversOf(ctx, t, i, node))
	}

	i.Stop()
	i.Args = i.Args[:len(i.Args)-len(withoutDriver)]
	assert.Must(t, i.Run(ctx))
	upgraded(ctx, t, i, "old", folder)
	joined(ctx, t, i, n.Root)
}

// joined: a StatefulSet whose pod is placed on a machine that joined has its volume there. The
// scheduler knows that machine's room; what is written grows, is in snapshots and comes back from
// them, there and nowhere else.
func joined(ctx context.Context, t *testing.T, i *instance.Instance, root string) {
	t.Helper()
	kubectl(ctx, t, i, "", "wait", "--for=create", "csistoragecapacity/local."+neighbour.Node, "-n", "kube-system", "--timeout=60s")
	assert.Deep(t, "log of the first pod", "db", place(ctx, t, i, "db", workload("db", neighbour.Node, "null")))
	list := stored(t, root, "volumes")
	assert.True(t, len(list) == 1, "volumes of the machine that joined: %q", list)
	want := fill(t, mountOf(ctx, t, i, root, "db"))
	kubectl(ctx, t, i, "", "wait", "--for=create", "volumesnapshotclass/local", "--timeout=60s")
	kubectl(ctx, t, i, strings.Replace(snapshotOf, "data-db-0", "db", 1), "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "volumesnapshot/before", "--for=jsonpath={.status.readyToUse}=true", "--timeout=60s")

	kubectl(ctx, t, i, "", "patch", "pvc/db", "--type=merge", `--patch={"spec": {"resources": {"requests": {"storage": "384Mi"}}}}`)
	kubectl(ctx, t, i, "", "wait", "pvc/db", "--for=jsonpath={.status.conditions[?(@.type==\"FileSystemResizePending\")].status}=True", "--timeout=60s")
	kubectl(ctx, t, i, "", "delete", "pod", "db-0") // the next one has it larger at once
	kubectl(ctx, t, i, "", "wait", "pvc/db", "--for=jsonpath={.status.capacity.storage}=384Mi", "--timeout=60s")
	kubectl(ctx, t, i, "", "rollout", "status", "sts/db", "--timeout=60s")

	for _, c := range []struct{ name, manifest, log string }{
		{"restored", workload("restored", neighbour.Node, fromSnapshot), "db restored"},
		{"clone", preferring("clone", instance.Node, "{kind: PersistentVolumeClaim, name: db}"), "db db clone"},
	} {
		assert.Deep(t, fmt.Sprintf("log in volume %s", c.name), c.log, place(ctx, t, i, c.name, c.manifest))
		assert.True(t, sum(t, filepath.Join(mountOf(ctx, t, i, root, c.name), "data")) == want, "volume %s has other data than its source", c.name)
	}
	// A pod that may only be on the first machine has no copy there.
	kubectl(ctx, t, i, workload("elsewhere", instance.Node, fromSnapshot), "apply", "-f", "-")
	kubectl(ctx, t, i, "", "wait", "pvc/elsewhere", "--for=jsonpath={.status.phase}=Bound", "--timeout=60s")
	kubectl(ctx, t, i, "", "wait", "pod/elsewhere-0", "--for=jsonpath={.status.conditions[0].reason}=Unschedulable", "--timeout=60s")
	for _, claim := range []string{"clone", "elsewhere"} {
		why := kubectl(ctx, t, i, "", "get", "events", "--field-selector=reason=ProvisioningFailed,involvedObject.name="+claim, "-o", "jsonpath={.items[*].message}")
		assert.True(t, strings.Contains(why, "node "+instance.Node+" was selected, but the source of the volume is on node "+neighbour.Node),
			"events of claim %s: %q", claim, why)
	}
	kubectl(ctx, t, i, "", "delete", "sts", "--all")
	kubectl(ctx, t, i, "", "delete", "pvc", "--all")
	kubectl(ctx, t, i, "", "delete", "volumesnapshot", "--all")
	kubectl(ctx, t, i, "", "wait", "--for=delete", "pv", "--all", "--timeout=60s")
	for _, at := range []string{i.Root, root} {
		list := stored(t, at, "volumes")
		assert.True(t, len(list) == 0, "volumes left in %s: %q", at, list)
	}
}
