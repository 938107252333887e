package grow

import (
	"context"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/e2e/neighbour"
	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/leftovers"
)

// guest runs on the node of the kubelet, whose network is the machine's.
const guest = `
apiVersion: v1
kind: Pod
metadata: {name: guest}
spec:
  nodeName: n2
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
  - {name: c, image: lifepod.dev/toolbox:1, command: [sh, -c, "echo here; sleep 100000"], resources: {limits: {memory: 32Mi}}}
`

// TestPlainKubelet: an unmodified kubelet joins by a token and with the configuration
// that kubeadm would give it. The API server verifies it, as logs and exec show.
func TestPlainKubelet(t *testing.T) {
	ctx := assert.Context(t, patience)
	n := neighbour.New(t, neighbour.Config{Cable: "lpgrow0", Near: near, Far: far})
	c, client := startCluster(t)
	token, _, err := c.Invitation(ctx)
	assert.Must(t, err)
	startKubelet(ctx, t, n, kubeletFiles(ctx, t, n.Root, c, client, token), startRuntime(t, n))
	awaitReady(ctx, t, client, v1.ConditionTrue)

	assert.Must(t, assert.ErrorOf(c.Kubectl(ctx, guest, "apply", "-f", "-")))
	machine.Until(t, "what the pod says", func() bool {
		out, err := c.Kubectl(ctx, "", "logs", "guest")
		return err == nil && out == "here\n"
	})
	out, err := c.Kubectl(ctx, "", "exec", "guest", "--", "sh", "-c", "echo there")
	assert.True(t, err == nil && out == "there\n", "exec: %q, %v", out, err)
	assert.NoError(t, assert.ErrorOf(c.Kubectl(ctx, "", "delete", "pod", "guest"))) // and waits
}

// startRuntime starts the container runtime of the other machine: the one that
// lifepod carries, run by a lifepod without pods. The result is its endpoint.
func startRuntime(t *testing.T, n *neighbour.Neighbour) string {
	t.Helper()
	root, empty := machine.Root{Dir: filepath.Join(n.Root, "runtime")}, t.TempDir()
	process := n.Start("", n.Program, "agent", "--root="+root.Dir, "--manifests="+empty)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the runtime:\n%s", process.Story())
		}
		process.End()
		<-n.Start("", n.Program, "doctor", "--sweep", "--root", root.Dir).Ended() // its exit code is about the whole machine
		for _, left := range root.Left() {
			t.Errorf("left of the runtime: %s", left)
		}
	})
	socket := filepath.Join(root.RunDir(), "containerd.sock")
	machine.Until(t, "the runtime", func() bool {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	})
	return "unix://" + socket
}

// kubeletFiles writes what kubeadm join writes into dir, and returns the flags and
// the configuration, which lacks what is this machine's own.
func kubeletFiles(ctx context.Context, t *testing.T, dir string, c *instance.Instance, client kubernetes.Interface, token string) kubeletConfig {
	t.Helper()
	admin := assert.Get(c.RESTConfig()).Must(t)
	bootstrap := clientcmdapi.NewConfig()
	bootstrap.Clusters["c"] = &clientcmdapi.Cluster{Server: admin.Host, CertificateAuthorityData: admin.CAData}
	bootstrap.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: token}
	bootstrap.Contexts["x"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	bootstrap.CurrentContext = "x"
	k := kubeletConfig{
		flags: []string{
			"--bootstrap-kubeconfig=" + filepath.Join(dir, "bootstrap.conf"), "--kubeconfig=" + filepath.Join(dir, "kubelet.conf"),
			"--cert-dir=" + filepath.Join(dir, "pki"), "--root-dir=" + filepath.Join(dir, "kubelet"),
			"--config=" + filepath.Join(dir, "config.yaml"), "--hostname-override=n2", "--node-ip=" + far,
		},
		file:   filepath.Join(dir, "config.yaml"),
		fields: map[string]any{},
	}
	authority := filepath.Join(dir, "ca.crt")
	for path, write := range map[string]func(path string) error{
		authority: func(path string) error { return os.WriteFile(path, admin.CAData, 0o600) },
		filepath.Join(dir, "bootstrap.conf"): func(path string) error {
			return clientcmd.WriteToFile(*bootstrap, path)
		},
	} {
		assert.Must(t, write(path))
	}
	published := assert.Get(client.CoreV1().ConfigMaps(metav1.NamespaceSystem).Get(ctx, "kubelet-config", metav1.GetOptions{})).Must(t)
	assert.Must(t, yaml.Unmarshal([]byte(published.Data["kubelet"]), &k.fields))
	k.fields["authentication"].(map[string]any)["x509"] = map[string]any{"clientCAFile": authority}
	return k
}

// kubeletConfig is what a kubelet is started with.
type kubeletConfig struct {
	flags  []string
	file   string
	fields map[string]any // of the KubeletConfiguration
}

// startKubelet starts it on the other machine. It ends with the test, and nothing of it
// is left.
func startKubelet(ctx context.Context, t *testing.T, n *neighbour.Neighbour, k kubeletConfig, endpoint string) {
	t.Helper()
	binaries := assert.Get(controlplane.FindBinaries()).Must(t)
	kubelet := filepath.Join(binaries, "kubelet")
	_, err := os.Stat(kubelet)
	assert.Require(t, err == nil, "%v: run `make kubelet` first", err)
	root := machine.Root{Dir: n.Root}
	maps.Copy(k.fields, map[string]any{
		"containerRuntimeEndpoint": endpoint,
		"podLogsDir":               filepath.Join(n.Root, "logs"),
		"cgroupRoot":               "/" + root.Cgroup(),
		"healthzPort":              0,
		"failCgroupV1":             false, // machines with version 1 are to pass, too
		"failSwapOn":               false,
		"evictionHard":             map[string]string{"memory.available": "0%", "nodefs.available": "0%", "imagefs.available": "0%"},
	})
	text := assert.Get(yaml.Marshal(k.fields)).Must(t)
	assert.Must(t, os.WriteFile(k.file, text, 0o600))
	for _, hierarchy := range hierarchies(t) { // the kubelet wants to find it
		assert.Must(t, os.MkdirAll(filepath.Join(hierarchy, root.Cgroup()), 0o755))
	}
	process := n.Start("", kubelet, k.flags...)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the log of the kubelet:\n%s", process.Story())
		}
		process.End()
		machine.RemoveDeviceSocket()
		closing := context.WithoutCancel(ctx)
		found, err := leftovers.Find(closing, leftovers.Place{Root: n.Root, CgroupParent: root.Cgroup()})
		assert.NoError(t, err)
		found = slices.DeleteFunc(found, func(l leftovers.Leftover) bool { return l.Kind == leftovers.Process }) // the runtime's
		assert.NoError(t, leftovers.Sweep(closing, found))
	})
}

// hierarchies is the one of cgroup v2, or each of v1.
func hierarchies(t *testing.T) []string {
	t.Helper()
	const root = "/sys/fs/cgroup"
	if _, err := os.Stat(filepath.Join(root, "cgroup.controllers")); err == nil {
		return []string{root}
	}
	found := assert.Get(filepath.Glob(root + "/*/tasks")).Must(t)
	for i, tasks := range found {
		found[i] = filepath.Dir(tasks)
	}
	return found
}
