package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/member"
	"github.com/lifepod/lifepod/internal/assert"
)

// steady is a workload to which nothing may happen: a pod with all that a pod can
// have, one with a restart of all containers behind it, a Job that has ended.
const steady = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {version: "0"}
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {word: sesame}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web, steady: "yes"}}
    spec:
      nodeSelector: {kubernetes.io/hostname: NODE}
      terminationGracePeriodSeconds: 2
      initContainers:
      - {name: prepare, image: TOOLBOX, command: [sh, -c, "echo prepared > /disk/file"], resources: {limits: {memory: 32Mi}}, volumeMounts: &mounts [{name: disk, mountPath: /disk}, {name: memory, mountPath: /memory}, {name: settings, mountPath: /settings}, {name: password, mountPath: /password}, {name: all, mountPath: /all}]}
      - {name: sidecar, image: TOOLBOX, restartPolicy: Always, command: [serve, --port, "8081"], startupProbe: {tcpSocket: {port: 8081}, periodSeconds: 1}, resources: {limits: {memory: 32Mi}}, volumeMounts: *mounts}
      containers:
      - {name: main, image: TOOLBOX, command: [sh, -c, "echo first > /memory/file; echo hello; exec serve --port 8080"],
         startupProbe: {httpGet: {port: 8080}, periodSeconds: 1, failureThreshold: 30},
         readinessProbe: {httpGet: {port: 8080}, periodSeconds: 1, failureThreshold: 10},
         livenessProbe: {tcpSocket: {port: 8080}, periodSeconds: 1, failureThreshold: 10},
         lifecycle: {postStart: {exec: {command: [sh, -c, "echo started >> /disk/hooks"]}}},
         resources: {requests: {cpu: 10m}, limits: {memory: 64Mi}}, volumeMounts: *mounts}
      - {name: plain, image: TOOLBOX, command: [sleep, "3600"], securityContext: {runAsUser: 1000, runAsGroup: 1000}, resources: {limits: {memory: 32Mi}}, volumeMounts: *mounts}
      volumes:
      - {name: disk, emptyDir: {}}
      - {name: memory, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
      - {name: settings, configMap: {name: settings}}
      - {name: password, secret: {secretName: password}}
      - name: all
        projected:
          sources:
          - {serviceAccountToken: {path: token}}
          - {downwardAPI: {items: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: done}
spec:
  template:
    metadata: {labels: {steady: "yes"}}
    spec:
      restartPolicy: Never
      nodeSelector: {kubernetes.io/hostname: NODE}
      containers:
      - {name: main, image: TOOLBOX, command: [sh, -c, "echo the result; echo a message > /dev/termination-log"], resources: {limits: {memory: 32Mi}}}
`

// crashing ends again and again.
const crashing = `
metadata: {name: crashing}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "echo crash; exit 1"], resources: {limits: {memory: 32Mi}}}
`

// whole restarts all its containers when told to by a file.
const whole = `
metadata: {name: whole}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: TOOLBOX, restartPolicy: Never, restartPolicyRules: [{action: RestartAllContainers, exitCodes: {operator: In, values: [42]}}],
     command: [sh, -c, "while [ ! -e /v/again ]; do sleep 0.1; done; rm /v/again; exit 42"], resources: {limits: {memory: 32Mi}},
     volumeMounts: [{name: v, mountPath: /v}]}
  - {name: other, image: TOOLBOX, command: [sleep, "3600"], resources: {limits: {memory: 32Mi}}, volumeMounts: [{name: v, mountPath: /v}]}
  volumes: [{name: v, emptyDir: {}}]
`

// leaving is deleted before its node's program is replaced, and ends after.
const leaving = `
metadata: {name: leaving}
spec:
  terminationGracePeriodSeconds: 60
  containers:
  - {name: main, image: TOOLBOX, command: [sh, -c, "trap 'exit 0' TERM; while true; do sleep 0.1; done"],
     lifecycle: {preStop: {sleep: {seconds: 3}}}, resources: {limits: {memory: 32Mi}}}
`

// static is a static pod that has crashed once; its mirror has the node's name behind its own.
const static = `
apiVersion: v1
kind: Pod
metadata: {name: static, namespace: NAMESPACE, labels: {steady: "yes"}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: main, image: lifepod.dev/toolbox:1, command: [sh, -c, "[ -e /v/again ] && exec serve --port 8080; touch /v/again; echo before; exit 1"],
     resources: {limits: {memory: 32Mi}}, volumeMounts: [{name: v, mountPath: /v}]}
  volumes: [{name: v, emptyDir: {}}]
`

// TestTakeover: lifepod takes the kubelet's place and gives it back, with the same
// credentials, configuration and folders. Nobody notices: nothing restarts, nothing
// becomes unready, what was under way is finished, nothing is left behind (B-RST-1).
func TestTakeover(t *testing.T) {
	t.Parallel()
	manifests, kubelet := t.TempDir(), plane.Binary("kubelet")
	_, err := os.Stat(kubelet)
	assert.Require(t, err == nil, "%v: run `make kubelet` first", err)
	node := newNode(t, member.Config{Program: kubelet, Kubelet: map[string]any{
		"containerRuntimeEndpoint": startRuntime(t),
		"staticPodPath":            manifests,
		"syncFrequency":            "2s", // when the kubelet writes a ConfigMap anew
		"enforceNodeAllocatable":   []string{},
	}})
	c := &takeover{cluster: newCluster(t, node), manifests: manifests, wholly: plane.Has(t, "RestartAllContainersOnContainerExits")}
	c.begin()
	for turn, program := range []string{binary, kubelet, binary} {
		c.swap(program)
		c.works(turn + 1)
		c.keptFiles()
	}
	c.stop()
	c.check()
	assert.Must(t, node.Run()) // it removes the pods
}

// takeover is a node whose program is replaced.
type takeover struct {
	*cluster
	manifests string // folder of static pods
	wholly    bool   // the API server takes pods that restart all containers
	record    *record
	programs  []string             // those that ran
	stops     []map[string]*v1.Pod // all pods, by name, at each program's end
	web       string               // name of the Deployment's pod
}

// begin starts all pods under the first program.
func (c *takeover) begin() {
	c.t.Helper()
	c.apply(steady)
	c.create(crashing)
	if c.wholly {
		c.create(whole)
	}
	text := strings.ReplaceAll(static, "NAMESPACE", c.namespace)
	assert.Must(c.t, os.WriteFile(filepath.Join(c.manifests, "static.yaml"), []byte(text), 0o600))
	c.t.Cleanup(func() { _ = os.Remove(filepath.Join(c.manifests, "static.yaml")) }) // before the namespace goes
	c.kubectl("wait", "--for=condition=Complete", "job/done", "--timeout=60s")
	c.kubectl("rollout", "status", "deployment/web", "--timeout=60s")
	c.await("static-"+c.node.Name, "to run again", func(pod *v1.Pod) bool { return restarts(pod, "main") == 1 && machine.IsReady(pod) })
	if c.wholly {
		c.awaitReady("whole")
	}
	c.await("crashing", "to crash", func(pod *v1.Pod) bool { return restarts(pod, "main") > 0 })
	c.record = c.newRecord()
	c.programs = append(c.programs, plane.Binary("kubelet"))
	for name := range c.all("app=web") {
		c.web = name
	}
}

// swap ends the node's program while a pod is ending, and starts another.
func (c *takeover) swap(program string) {
	c.t.Helper()
	c.create(leaving)
	c.awaitReady("leaving")
	assert.Must(c.t, client.CoreV1().Pods(c.namespace).Delete(c.t.Context(), "leaving", metav1.DeleteOptions{}))
	by := fmt.Sprint("by-", len(c.programs)-1)
	c.create(strings.ReplaceAll(sleeper, "sleeper", by))
	c.awaitReady(by)
	if program == plane.Binary("kubelet") {
		c.ripen()
	}
	c.stop()
	c.programs = append(c.programs, program)
	c.node.Become(program)
	assert.Must(c.t, c.node.Run())
	assert.Must(c.t, c.node.AwaitHealthy(c.t.Context()))
}

// stop ends the node's program. Until the next runs, nobody writes a status.
func (c *takeover) stop() {
	c.t.Helper()
	assert.Must(c.t, c.node.Stop())
	c.stops = append(c.stops, c.all(""))
}

// ripen waits until the containers are older than the ten seconds in which a kubelet
// that has just begun takes them for new, and not ready.
func (c *takeover) ripen() {
	c.t.Helper()
	for _, pod := range c.all("app=web") {
		for _, s := range pod.Status.ContainerStatuses {
			select {
			case <-time.After(time.Until(s.State.Running.StartedAt.Add(11 * time.Second))):
			case <-c.t.Context().Done():
			}
		}
	}
}

// works uses the pods under a new program.
func (c *takeover) works(turn int) {
	c.t.Helper()
	patch := fmt.Appendf(nil, `{"data":{"version":"%d"}}`, turn)
	assert.Must(c.t, assert.ErrorOf(client.CoreV1().ConfigMaps(c.namespace).Patch(c.t.Context(), "settings", types.MergePatchType, patch, metav1.PatchOptions{})))
	ctx := assert.Context(c.t, patience)
	err := c.untilGone(ctx, "leaving")
	assert.True(c.t, err == nil, "turn %d: the pod that was ending is not gone: %v", turn, err)
	c.delete(fmt.Sprint("by-", turn-1))
	c.kubectl("exec", c.web, "-c", "main", "--", "sh", "-c", fmt.Sprintf("while [ $(cat /settings/version) != %d ]; do sleep 0.1; done", turn))
	c.awaitLine(c.web, "hello")
	if c.wholly {
		c.restartsWhole()
	}
	c.crashLog(turn)
}

// crashLog asks for the log of the instance that crashed last. Between the end of one and the
// status that tells of it the kubelet may have removed the log that it is asked for.
func (c *takeover) crashLog(turn int) {
	c.t.Helper()
	for deadline := time.Now().Add(patience); ; {
		got := c.kubectl("logs", "crashing", "--previous")
		if got == "crash\n" {
			return
		}
		if c.programs[len(c.programs)-1] == binary || time.Now().After(deadline) {
			c.t.Errorf("turn %d: the log of the crashed container is %q", turn, got)
			return
		}
	}
}

// restartsWhole has a pod restart all its containers.
func (c *takeover) restartsWhole() {
	c.t.Helper()
	before := c.await("whole", "to be", func(*v1.Pod) bool { return true })
	c.kubectl("exec", "whole", "-c", "other", "--", "touch", "/v/again")
	c.await("whole", "to restart all containers", func(pod *v1.Pod) bool {
		return restarts(pod, "main") == restarts(before, "main")+1 && restarts(pod, "other") == restarts(before, "other")+1 && machine.IsReady(pod)
	})
}

// check looks back at what the watch has shown since the first kubelet ended. What that one did
// nobody has taken over yet.
func (c *takeover) check() {
	c.t.Helper()
	for i, program := range c.programs[1:] {
		before, after := c.stops[i], c.stops[i+1]
		c.record.restartsOnly(c.t, before["crashing"], after["crashing"])
		for name, pod := range before {
			if pod.Labels["steady"] == "" {
				continue
			}
			if now := after[name]; now == nil || now.UID != pod.UID {
				c.t.Errorf("%s: pod %s is another one, or gone", filepath.Base(program), name)
				continue
			}
			c.record.unchanged(c.t, program, pod, after[name])
		}
	}
}

// keptFiles fails the test unless the volumes of the pod are the same that its
// containers began with, and its hooks ran once.
func (c *takeover) keptFiles() {
	c.t.Helper()
	got := c.kubectl("exec", c.web, "-c", "main", "--", "cat", "/disk/file", "/disk/hooks", "/memory/file", "/password/word")
	want := "prepared\nstarted\nfirst\nsesame"
	assert.True(c.t, got == want, "the files of the pod are %q, want %q: hooks run once, volumes are kept", got, want)
}

func restarts(pod *v1.Pod, container string) int32 { return statusOf(pod, container).RestartCount }
