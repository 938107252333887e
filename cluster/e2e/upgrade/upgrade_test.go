package upgrade

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/e2e/neighbour"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/register"
)

// Addresses of the other machine and of this one on the cable between them, from
// the range for tests of networks (RFC 2544).
const near, far = "198.18.76.1", "198.18.76.2"

// patience is how long each of the two clusters may take.
var patience = 4 * machine.Patience

// TestUpgrade: this lifepod takes over a cluster of the lifepod before, with its own node, a joined node and a node of lifepod agent.
// Objects and processes stay the same. The backup of the lifepod before can be restored, too.
func TestUpgrade(t *testing.T) {
	after := assert.Get(instance.Program("../../..")).Must(t)
	before := os.Getenv("LIFEPOD_BEFORE")
	assert.Require(t, before != "", "LIFEPOD_BEFORE, the lifepod of before, is not set: make test-upgrade builds it")
	backup := filepath.Join(t.TempDir(), "backup")
	var was objects
	t.Run("in place", func(t *testing.T) { was = inPlace(t, before, after, backup) })
	if t.Failed() {
		return
	}
	t.Run("from the backup", func(t *testing.T) {
		ctx := assert.Context(t, patience)
		root := t.TempDir()
		out, err := exec.CommandContext(ctx, after, "restore", "--root", root, backup).CombinedOutput()
		assert.Require(t, err == nil, "%v: %s", err, out)
		c := start(ctx, t, instance.Config{Program: after, Root: root})
		c.same(was)
		c.works()
	})
}

// inPlace returns the objects that the lifepod of before had made when it took the backup.
func inPlace(t *testing.T, before, after, backup string) objects {
	ctx := assert.Context(t, patience)
	m := neighbour.New(t, neighbour.Config{Cable: "lpupgrade0", Near: near, Far: far})
	m.Program = before
	c := start(ctx, t, instance.Config{Program: before})
	invitation, args, err := c.Invitation(ctx)
	assert.Must(t, err)
	refusesNewer(t, m, after, invitation, args)
	token, configuration := m.Joins(ctx, c.Instance, instance.Configuration+"healthzPort: 0\n")
	a := &agent{cluster: c, program: before, root: t.TempDir(), bootstrap: c.bootstrap(token)}
	a.start()
	t.Cleanup(a.leave)
	c.make()
	out, err := exec.CommandContext(ctx, before, "backup", "--root", c.Root, backup).CombinedOutput()
	assert.Require(t, err == nil, "%v: %s", err, out)
	was, stored, lives := c.objects(), c.stored(), c.lives()

	c.Stop()
	c.Program = after
	c.refuses("1.99", "a cluster does not go back")
	c.refuses("1.1", "a cluster goes up by one minor version at a time")
	assert.Must(t, c.Run(ctx))
	c.awaitNode(instance.Node, register.Version)
	c.same(was)
	c.live(lives)
	c.storesAlike(stored)
	c.works()
	c.apply(pod("late-n2", "n2")) // on a node that is older than its server
	c.kubectl("wait", "--for=condition=Ready", "pod/late-n2", "--timeout=60s")
	assert.Equal(t, "runs", c.kubectl("logs", "late-n2"), "the pod on the older node has logged")

	lives = c.lives()
	m.Join.End()
	m.Program = after
	m.Again("--config", configuration, "--port", "10350")
	c.awaitNode("n2", register.Version)
	a.end()
	a.program = after
	a.start()
	c.awaitNode("n3", register.Version)
	c.live(lives)
	assert.Equal(t, "works", c.kubectl("exec", "late-n2", "--", "echo", "works"), "exec on the node that is newer now")
	return was
}

// refusesNewer: no node joins a server that is older.
func refusesNewer(t *testing.T, m *neighbour.Neighbour, after, token string, args []string) {
	t.Helper()
	newer := m.Start(token, after, append([]string{"join", "--root", t.TempDir(), "--hostname-override", "n4"}, args...)...)
	<-newer.Ended()
	want := "Kubernetes supports no node that is newer than its API server"
	assert.True(t, strings.Contains(newer.Story(), want), "a node that is newer: %q, want %q in it", newer.Story(), want)
}

// refuses: lifepod up does not go on with a cluster of that version.
func (c *cluster) refuses(version, want string) {
	c.t.Helper()
	file := filepath.Join(c.Root, "cluster", "kubernetes-version")
	was, missing := os.ReadFile(file)
	assert.Must(c.t, os.WriteFile(file, []byte(version+"\n"), 0o600))
	if err := c.Run(c.ctx); err == nil || !strings.Contains(err.Error(), want) {
		c.t.Fatalf("a cluster of Kubernetes %s: %v, want %q", version, err, want)
	}
	err := os.Remove(file)
	if missing == nil {
		err = os.WriteFile(file, was, 0o600)
	}
	assert.Must(c.t, err)
}

// agent is a lifepod agent on this machine, the node n3.
type agent struct {
	*cluster
	program, root, bootstrap string
	process                  *machine.Process
}

func (a *agent) start() {
	a.t.Helper()
	port := assert.Get(machine.FreePort()).Must(a.t)
	in := func(name string) string { return filepath.Join(a.root, name) }
	configuration := a.file("agent.yaml", fmt.Sprintf("%sport: %d\nhealthzPort: 0\npodLogsDir: %s\n", instance.Configuration, port, in("logs")))
	command := exec.Command(a.program, "agent", "--root", a.root, "--root-dir", in("kubelet"), "--hostname-override", "n3",
		"--config", configuration, "--cert-dir", in("pki"), "--kubeconfig", in("kubeconfig"), "--bootstrap-kubeconfig", a.bootstrap)
	a.process = assert.Get(machine.StartProcess(command, in("agent.log"))).Must(a.t)
}

func (a *agent) end() {
	_ = a.process.Signal(os.Interrupt) // it may have ended
	<-a.process.Ended()
}

func (a *agent) leave() {
	if a.t.Failed() {
		a.t.Logf("lifepod agent:\n%s", a.process.LastLines(50))
	}
	a.end()
	out, err := exec.Command(a.program, "down", "--root", a.root, "--grace-period", "1s").CombinedOutput()
	assert.True(a.t, err == nil, "%v: %s", err, out)
	assert.Empty(a.t, (machine.Root{Dir: a.root}).Left(), "left of the agent")
}

// bootstrap is a kubeconfig for who has the token.
func (c *cluster) bootstrap(token string) (file string) {
	c.t.Helper()
	admin := assert.Get(c.RESTConfig()).Must(c.t)
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	config.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "x"
	text := assert.Get(clientcmd.Write(*config)).Must(c.t)
	return c.file("bootstrap", string(text))
}

// live: the same processes run, of the same containers, restarted as often.
func (c *cluster) live(was map[string]string) {
	c.t.Helper()
	assert.Deep(c.t, "pods", was, c.lives())
}
