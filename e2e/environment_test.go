package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

const environmentObjects = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {COLOR: blue, SIZE: "3"}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {TOKEN: s3cret}
---
`

// TestEnvironment: every source of environment variables, and expansion in
// values, command and args.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	manifest := environmentObjects + `
apiVersion: v1
kind: Pod
metadata:
  name: env
  namespace: shop
  labels: {app: web}
  annotations: {note: hello}
spec:
  restartPolicy: Never
  containers:
  - name: main
    image: ` + toolbox + `
    envFrom:
    - {configMapRef: {name: settings}, prefix: S_}
    - secretRef: {name: keys}
    - {configMapRef: {name: absent, optional: true}}
    env:
    - {name: PLAIN, value: v1}
    - {name: COMPOSED, value: "$(PLAIN)-$(S_COLOR)-$(UNKNOWN)-$$(PLAIN)"}
    - {name: KEY, valueFrom: {configMapKeyRef: {name: settings, key: SIZE}}}
    - {name: SECRET, valueFrom: {secretKeyRef: {name: keys, key: TOKEN}}}
    - {name: NONE, valueFrom: {secretKeyRef: {name: keys, key: absent, optional: true}}}
    - {name: NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {name: NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    - {name: LABEL, valueFrom: {fieldRef: {fieldPath: "metadata.labels['app']"}}}
    - {name: NOTE, valueFrom: {fieldRef: {fieldPath: "metadata.annotations['note']"}}}
    - {name: ACCOUNT, valueFrom: {fieldRef: {fieldPath: spec.serviceAccountName}}}
    - {name: CPU, valueFrom: {resourceFieldRef: {resource: limits.cpu, divisor: 1m}}}
    - {name: MEMORY, valueFrom: {resourceFieldRef: {resource: requests.memory, divisor: 1Mi}}}
    resources: {limits: {cpu: 250m, memory: 96Mi}, requests: {memory: 64Mi}}
    command: [sh, -c, 'echo "$1 $2"; env', sh, "$(PLAIN)"]
    args: ["$(KEY)"]
`
	got := shared.run(t, manifest)
	first, rest, _ := strings.Cut(got.stdout, "\n")
	assert.True(t, first == "v1 3" && got.code == 0, "exit code %d, command and args came as %q\n%s", got.code, first, got.stderr)
	vars := map[string]string{}
	for line := range strings.Lines(rest) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		vars[name] = value
	}
	for _, ignored := range []string{"PATH", "PWD", "SHLVL", "HOME", "_", "OLDPWD", "GID", "IFS", "OPTIND", "EUID", "UID"} {
		delete(vars, ignored)
	}
	want := map[string]string{
		"S_COLOR": "blue", "S_SIZE": "3", "TOKEN": "s3cret", "PLAIN": "v1", "COMPOSED": "v1-blue-$(UNKNOWN)-$(PLAIN)",
		"KEY": "3", "SECRET": "s3cret", "NAME": "env", "NAMESPACE": "shop", "LABEL": "web", "NOTE": "hello",
		"ACCOUNT": "default", "CPU": "250", "MEMORY": "64", "HOSTNAME": "env",
	}
	assert.Deep(t, "variables", want, vars)
}

// TestStatusFields: what is known only at run time matches the status.
func TestStatusFields(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 0, pod("fields", `
restartPolicy: Never
containers:
`+shell("main", `echo $POD_IP $POD_IPS $HOST_IP $NODE $POD_UID`, `
env:
- {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
- {name: POD_IPS, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
- {name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
- {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
- {name: POD_UID, valueFrom: {fieldRef: {fieldPath: metadata.uid}}}`)))
	last := result.last(t)
	fields := strings.Fields(result.output("main"))
	assert.Require(t, len(fields) == 5, "output %q", result.output("main"))
	name := assert.Get(os.Hostname()).Must(t)
	assert.Deep(t, "fields", []string{last.PodIP, last.PodIP, last.HostIP, strings.ToLower(name)}, fields[:4])
	assert.True(t, len(fields[4]) == 36, "uid %q", fields[4])
}

// TestWorkingDir and the rest of how a process is started.
func TestWorkingDir(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("dir", `
restartPolicy: Never
containers:
`+shell("main", "pwd; [ -t 1 ] || echo no terminal", "workingDir: /tmp")))
	got.want(t, 0, "/tmp\nno terminal\n")
}

// TestName: --name takes the place of metadata.name.
func TestName(t *testing.T) {
	t.Parallel()
	got := shared.run(t, script("written", "hostname"), "--name", "given")
	assert.True(t, got.stdout == "given\n", "host name %q\n%s", got.stdout, got.stderr)
}

// TestTerminationMessage is what a container wrote to its termination log.
func TestTerminationMessage(t *testing.T) {
	t.Parallel()
	result := shared.runStory(t, 1, pod("message", `
restartPolicy: Never
containers:
`+shell("file", "echo -n because > /dev/termination-log; exit 1")+
		shell("logs", "echo last words; exit 1", "terminationMessagePolicy: FallbackToLogsOnError")))
	last := result.last(t)
	for name, want := range map[string]string{"file": "because", "logs": "last words\n"} {
		assert.Deep(t, fmt.Sprintf("message of %s", name), want, containerNamed(t, last, name).State.Terminated.Message)
	}
}
