package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// unmade are objects for which no pod speaks.
const unmade = `
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: unmade}
spec:
  selector: {matchLabels: {app: unmade}}
  template:
    metadata: {labels: {app: unmade}}
    spec: {serviceAccountName: nobody, containers: [{name: c, image: "lifepod.dev/toolbox:1"}]}
---
apiVersion: v1
kind: Service
metadata: {name: lonely}
spec: {selector: {app: nobody}, ports: [{port: 80}]}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: unbound}
spec: {storageClassName: none, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
`

// TestWhy: why pods of the cluster are as they are, and what has no pods, from their node's folder and, as a plugin of kubectl, through
// the API server: the first sentence names the root.
func TestWhy(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	port := assert.Get(machine.FreePort()).Must(t)
	taken := "  ports: [{containerPort: 80, hostPort: " + strconv.Itoa(port) + "}]"
	s.create(podOf("taker", podSpec("sleep infinity", taken)))
	s.wait("pod/taker", "condition=Ready")
	s.create(podOf("crash", podSpec("echo no database; exit 3")) + podOf("taken", podSpec("exit 0", taken)) + unmade +
		podOf("nowhere", podSpec("exit 0", "nodeSelector: {there: none}")) +
		podOf("large", "\ncontainers: [{name: main, image: any, resources: {requests: {cpu: 6400}}}]") +
		podOf("unclaimed", podSpec("exit 0", "volumes: [{name: v, persistentVolumeClaim: {claimName: none}}]")) +
		podOf("gated", podSpec("exit 0", "schedulingGates: [{name: example.com/quota}]")) +
		podOf("elsewhere", podSpec("exit 0", "nodeName: elsewhere")) +
		podOf("secret", podSpec("exit 0", "  envFrom: [{secretRef: {name: none}}]")) +
		podOf("files", podSpec("exit 0", "  volumeMounts: [{name: v, mountPath: /v}]", "volumes: [{name: v, configMap: {name: none}}]")) +
		podOf("image", "\ncontainers: [{name: main, image: Upper/Case}]") +
		strings.Replace(podOf("held", podSpec("exit 0", "restartPolicy: Never")), "labels:", "finalizers: [example.com/keep], labels:", 1))
	t.Cleanup(func() { s.afterwards("-n", s.name, "patch", "pod", "held", "-p", `{"metadata": {"finalizers": null}}`) })
	s.kubectl("delete", "pod", "held", "--wait=false")
	plugin := filepath.Join(t.TempDir(), "kubectl-lifepod")
	assert.Must(t, os.Symlink(up.Program, plugin))
	const first = `^\S+ (is|has) [^-]* - `
	const nodes = `The pod has no node yet: 0/\d+ nodes are available: .*`
	const crash = first + `main (waits for its next restart: .*; it said|at \S+: exit 3, saying) "no database"`
	for _, tc := range []struct{ args, want string }{
		{"why crash", crash},
		{"why nowhere", first + nodes + `didn't match Pod's node affinity/selector`},
		{"why large", first + nodes + `Insufficient cpu`},
		{"why taken", first + nodes + `didn't have free ports`},
		{"why unclaimed", first + `The pod has no node yet: .*persistentvolumeclaim "none" not found`},
		{"why gated", first + `The pod has no node yet: it is not scheduled before others remove its scheduling gate example\.com/quota`},
		{"why elsewhere", first + `The pod's node elsewhere does not answer, .*`},
		{"why secret", first + `main can't be started: CreateContainerConfigError: secret "none" not found`},
		{"why files", first + `The pod's volumes can't be mounted: .*configmap "none" not found`},
		{"why image", first + `The image Upper/Case of main can't be had: InvalidImageName: `},
		{"why held", first + `The pod's object is still there because it has the finalizer example\.com/keep`},
		{"status nowhere", `PodScheduled False \w+ Unschedulable: 0/\d+ nodes are available`},
		{"why", `/nowhere .*` + nodes},
		{"why", `Deployment \S+/unmade It has 0 of 1 pod, because another can't be created: pods "unmade-.+serviceaccount "nobody" not found`},
		{"kubectl-lifepod why", `PersistentVolumeClaim \S+/unbound It is not bound: storageclass`},
		{"kubectl-lifepod why", `Service \S+/lonely It has no endpoints: no pod with an address has the labels app=nobody`},
		{"kubectl-lifepod why crash", crash},
		{"kubectl lifepod why crash", crash},
		{"kubectl-lifepod why nowhere", first + nodes},
		{"kubectl-lifepod timeline crash", `critical path`},
	} {
		args, isPlugin := strings.CutPrefix(tc.args, "kubectl-lifepod ")
		program, where := up.Program, "--root="+up.Root
		if isPlugin {
			program, where = plugin, "--kubeconfig="+up.Kubeconfig
		}
		s.until(tc.args, func() error {
			out, err := exec.CommandContext(t.Context(), program, append(strings.Fields(args), where, "-n", s.name)...).CombinedOutput()
			if text := strings.Join(strings.Fields(string(out)), " "); err == nil && !regexp.MustCompile(tc.want).MatchString(text) {
				return fmt.Errorf("%s\nwant %s", text, tc.want)
			}
			return err
		})
	}
}
