package e2e

import (
	"bytes"
	"context"
	"encoding/json"
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

// answer is what a command has printed and how it has ended.
type answer struct {
	out, complaint string
	code           int
}

func lifepod(t *testing.T, root string, args ...string) answer {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	defer cancel()
	command := exec.CommandContext(ctx, up.Program, append(args, "--root", root)...)
	var out, complaint bytes.Buffer
	command.Stdout, command.Stderr = &out, &complaint
	_ = command.Run() // the code says it
	return answer{out: out.String(), complaint: complaint.String(), code: command.ProcessState.ExitCode()}
}

// ownRoot is a folder for a cluster of the test's own, of which nothing is to be left
// on the machine.
func ownRoot(t *testing.T) string {
	t.Helper()
	root := assert.Get(os.MkdirTemp("", "lp-up-")).Must(t)
	t.Cleanup(func() {
		a := lifepod(t, root, "down", "--purge", "--grace-period", "1s")
		assert.True(t, a.code == 0, "down --purge: %+v", a)
		assert.Empty(t, (machine.Root{Dir: root}).Left(), "left behind")
		assert.NoError(t, os.RemoveAll(root))
	})
	return root
}

// What can't be is reported in one line, with an exit code, and nothing begins.
func TestBadInput(t *testing.T) {
	t.Parallel()
	root, listen := ownRoot(t), strings.TrimPrefix(up.Args[1], "0.0.0.0:")
	for _, test := range []struct{ args, want string }{
		{"up --disable nonsense", `--disable "nonsense": want some of node, scheduler, controllers, `},
		{"up --listen nonsense", `--listen "nonsense": want ADDRESS:PORT, such as 0.0.0.0:6443`},
		{"up --listen 0.0.0.0:70000", `--listen "0.0.0.0:70000": want ADDRESS:PORT, such as 0.0.0.0:6443`},
		{"up --listen 127.0.0.1:7000", `--listen on a loopback address: pods could not reach the API server`},
		{"up --listen 0.0.0.0:" + listen, "API server: another lifepod has 0.0.0.0:" + listen + ": address already in use: give another with --listen ADDRESS:PORT"},
		{"up --node-name Bad_Name", `name of the node "bad_name": a lowercase RFC 1123 subdomain must`},
		{"up --feature-gates PodLogsQuerySplitStream=true", "--feature-gates: PodLogsQuerySplitStream is no feature gate of Kubernetes 1.37: did you mean PodLogsQuerySplitStreams?"},
		{"up --feature-gates PodLogsQuerySplitStreams=maybe", `--feature-gates "PodLogsQuerySplitStreams=maybe": want NAME=true or NAME=false, several with commas between them`},
		{"up --runtime-config apps/v9=true", "--runtime-config: group version apps/v9 that has not been registered: want "},
		{"up --config /nonexistent", "--config: read configuration: open /nonexistent: no such file or directory"},
		{"up --port 70000", "--port 70000: want a port, such as 10250"},
		{"join --port 70000", "--port 70000: want a port, such as 10250"},
		{"up --node-monitor-grace-period -1s", "--node-monitor-grace-period -1s: want a time above 0"},
		{"up --backup-every 1h --backup-keep 0", "--backup-keep 0: want at least 1"},
		{"up --manifests /nonexistent", `--manifests "/nonexistent": want a folder that is there`},
		{"up --log-level loud", `--log-level "loud": want debug, info, warn or error`},
		{"up --nonsense", "unknown flag --nonsense: lifepod up --help lists the flags"},
		{"up extra", `unexpected argument "extra": want lifepod up [flags]`},
		{"down extra", `unexpected argument "extra": want lifepod down [flags]`},
		{"status -o yaml", `unknown output "yaml": want json`},
		{"kubectl get pods", "there is no cluster yet"},
	} {
		a := lifepod(t, root, strings.Fields(test.args)...)
		assert.True(t, a.code == 125 && a.out == "" && strings.HasPrefix(a.complaint, "lifepod: "+test.want) && strings.Count(a.complaint, "\n") == 1,
			"lifepod %s: %+v\nwant exit code 125 and the line %s", test.args, a, test.want)
	}
	a := lifepod(t, root, "up", "--detach", "--listen", "nonsense")
	want := "lifepod: the cluster did not come up:\n--listen \"nonsense\": want ADDRESS:PORT"
	assert.True(t, a.code == 125 && strings.HasPrefix(a.complaint, want), "lifepod up --detach: %+v, want exit code 125 and %s", a, want)
	for _, again := range [][]string{{"up"}, {"up", "--detach"}} {
		a = lifepod(t, up.Root, again...)
		want := fmt.Sprintf("lifepod: the cluster or node of %s runs already (process %d): see `lifepod --root %s status`", up.Root, up.Pid(), up.Root)
		assert.True(t, a.code == 125 && strings.HasPrefix(a.complaint, want), "a second lifepod %s: %+v, want exit code 125 and %s", again, a, want)
	}
}

// lifepod status says the same in text and JSON.
func TestStatus(t *testing.T) {
	t.Parallel()
	var got struct {
		Process                 int
		Resident, Stored        int64
		Server, Kubeconfig, API string
		Nodes                   []struct{ Name, State, Version string }
	}
	s := newSpace(t, nil)
	s.wait("node/"+instance.Node, "condition=Ready")
	a := lifepod(t, up.Root, "status", "-o", "json")
	err := json.Unmarshal([]byte(a.out), &got)
	assert.Require(t, err == nil, "%v: %+v", err, a)
	assert.True(t, got.Process == up.Pid() && got.Resident > 0 && got.Stored > 0 && got.Kubeconfig == up.Kubeconfig && got.API == "ready" &&
		len(got.Nodes) == 1 && got.Nodes[0].Name == instance.Node && got.Nodes[0].State == "Ready" && a.code == 0, "status is %+v", got)
	text := strings.Join(strings.Fields(lifepod(t, up.Root, "status").out), " ")
	for _, want := range []string{
		fmt.Sprintf("Process: %d, ", got.Process), "Server: " + got.Server + ", ready", "Kubeconfig: " + got.Kubeconfig,
		"Node: " + instance.Node + ", Ready, " + got.Nodes[0].Version, "Pods: ", "State: ",
	} {
		assert.True(t, strings.Contains(text, want), "status is %s\nwithout %s", text, want)
	}
}

// Where there is no cluster, status and down say so. One in the background is ready
// when the command ends; down ends it, and its kubeconfig is the administrator's only.
func TestDetached(t *testing.T) {
	t.Parallel()
	root := ownRoot(t)
	assert.Equal(t, (answer{out: "There is nothing of lifepod in " + root + ".\n"}), lifepod(t, root, "down"), "down of an unused folder")
	if a := lifepod(t, root, "status"); a.code != 0 || !strings.HasPrefix(a.out, "Cluster:   none in "+root+"; ") {
		t.Errorf("status without a cluster: %+v", a)
	}
	listen := assert.Get(freeAddress()).Must(t)
	kubeconfig := filepath.Join(root, "cluster", "kubeconfig")
	a := lifepod(t, root, "up", "--detach", "--listen", listen, "--node-name", "detached")
	assert.Require(t, a.code == 0 && strings.HasPrefix(a.out, "Kubernetes is ready after ") && strings.Contains(a.out, "export KUBECONFIG="+kubeconfig+"\n"),
		"up --detach: %+v", a)
	info, err := os.Stat(kubeconfig)
	assert.True(t, err == nil && info.Mode().Perm() == 0o600, "%s: %v, %v, want it private", kubeconfig, info.Mode(), err)
	a = lifepod(t, root, "kubectl", "get", "namespace", "default", "-o", "name")
	assert.True(t, a.out == "namespace/default\n", "kubectl: %+v", a)
	a = lifepod(t, root, "down")
	assert.True(t, a.code == 0 && strings.HasPrefix(a.out, "Ended process "), "down: %+v", a)
	a = lifepod(t, root, "status")
	assert.True(t, a.code == 0 && strings.HasPrefix(a.out, "Cluster:  does not run; "), "status afterwards: %+v", a)
}
