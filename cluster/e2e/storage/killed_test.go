package storage

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

const holderPod = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec: {accessModes: [ReadWriteOnce], volumeMode: MODE, resources: {requests: {storage: 32Mi}}}
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
      terminationGracePeriodSeconds: 1
      volumes: [{name: data, persistentVolumeClaim: {claimName: NAME}}]
      containers:
      - {name: c, image: "lifepod.dev/toolbox:1", imagePullPolicy: Never, command: [sh, -c, "COMMAND"], USE}
`

var (
	files = strings.NewReplacer("NAME", "files", "MODE", "Filesystem", "COMMAND", "echo started >> /data/log; sleep 1h", "USE", "volumeMounts: [{name: data, mountPath: /data}]")
	raws  = strings.NewReplacer("NAME", "raws", "MODE", "Block", "COMMAND", "sleep 1h", "USE", "volumeDevices: [{name: data, devicePath: /dev/data}]")
)

// volumeThings are the mounts and loop devices of the volumes of an instance.
func volumeThings(i *instance.Instance) (mounts, loops []string) {
	root := machine.Root{Dir: i.Root}
	for _, mount := range root.Mounts() {
		if strings.Contains(mount, "kubernetes.io~csi") || strings.Contains(mount, "kubernetes.io/csi") {
			mounts = append(mounts, mount)
		}
	}
	return mounts, root.Loops()
}

// Pods run on with their volumes when lifepod up is killed, which the next one doesn't mount
// again; also if it was killed in the middle of a copy. After lifepod down nothing of them is on the machine, also if lifepod up was killed
// before, and the next one has them again with what was written.
func TestLocalVolumesOutliveUp(t *testing.T) {
	i, ctx := start(t)
	kubectl(ctx, t, i, files.Replace(holderPod)+"---"+raws.Replace(holderPod), "apply", "-f", "-")
	for _, set := range []string{"sts/files", "sts/raws"} {
		kubectl(ctx, t, i, "", "rollout", "status", set, "--timeout=60s")
	}
	kubectl(ctx, t, i, "", "exec", "raws-0", "--", "sh", "-c", "echo written > /dev/data")
	mounts, loops := volumeThings(i)
	assert.Require(t, len(mounts) != 0 && len(loops) == 3, "mounts %q, loop devices %q", mounts, loops) // the block device is kept open by another

	killedWhileCopying(ctx, t, i)
	kubectl(ctx, t, i, "", "exec", "files-0", "--", "sh", "-c", "echo after >> /data/log")
	assert.Deep(t, "after lifepod up was killed, the log has", "started\nafter", kubectl(ctx, t, i, "", "exec", "files-0", "--", "cat", "/data/log"))
	again, loopsAgain := volumeThings(i)
	assert.True(t, len(again) == len(mounts) && len(loopsAgain) == 3, "before lifepod up was killed: %q, then %q %q", mounts, again, loopsAgain)

	i.Kill()
	out, err := exec.CommandContext(ctx, i.Program, "down", "--root", i.Root, "--grace-period", "1s").CombinedOutput()
	assert.Require(t, err == nil, "lifepod down: %v: %s", err, out)
	mounts, loops = volumeThings(i)
	assert.True(t, len(mounts)+len(loops) == 0, "lifepod down has left %q %q", mounts, loops)
	assert.Must(t, i.Run(ctx))
	for _, pod := range []string{"files-0", "raws-0"} {
		kubectl(ctx, t, i, "", "wait", "pod/"+pod, "--for=jsonpath={.status.containerStatuses[0].restartCount}=1", "--timeout=60s")
		kubectl(ctx, t, i, "", "wait", "pod/"+pod, "--for=condition=Ready", "--timeout=60s")
	}
	assert.Deep(t, "after lifepod down, the log has", "started\nafter\nstarted", kubectl(ctx, t, i, "", "exec", "files-0", "--", "cat", "/data/log"))
	assert.Equal(t, "written", kubectl(ctx, t, i, "", "exec", "raws-0", "--", "head", "-n", "1", "/dev/data"), "after lifepod down, the block device has")
}
