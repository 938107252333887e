package several

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/cluster/lead"
	"github.com/lifepod/lifepod/e2e/cable"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// patience is how long a whole test may take.
var patience = 4 * machine.Patience

// Addresses of this machine and of the other one on the cable between them, from
// the range for tests of networks (RFC 2544).
const near, far = "198.18.76.1", "198.18.76.2"

const work = `
apiVersion: batch/v1
kind: Job
metadata: {name: NAME}
spec:
  template:
    spec:
      restartPolicy: Never
      nodeSelector: {kubernetes.io/hostname: NODE}
      containers:
      - {name: c, image: lifepod.dev/toolbox:1, command: [sh, -c, "echo done"], resources: {limits: {memory: 32Mi}}}
`

func job(name, node string) string {
	return strings.NewReplacer("NAME", name, "NODE", node).Replace(work)
}

// TestSeveral: two servers on one etcd. Whoever leads is killed; the other serves on,
// leads, and does nothing a second time; volumes that the first was making on its node it goes on with.
// The first comes back and follows.
func TestSeveral(t *testing.T) {
	ctx := assert.Context(t, patience)
	other := cable.New(t, "lpseveral0", near, far)
	state := append(startEtcd(t), "--leader-elect-lease-duration", "4s", "--node-monitor-grace-period", "20s")

	first := instance.New(t, instance.Config{Args: append([]string{"--listen", near + ":16443"}, state...)})
	out := refused(ctx, first.Program, append([]string{"--root", t.TempDir(), "--listen", near + ":16444", "--disable", "node"}, state...)...)
	assert.True(t, strings.Contains(out, "has a cluster already"), "a server without keys says %q, want that there is a cluster", out)
	second := instance.New(t, instance.Config{
		Name: "n2", Within: other.Within,
		Args: append([]string{"--listen", far + ":16443", "--server", "--keys", filepath.Join(first.Root, "cluster", "pki")}, state...),
	})
	client := assert.Get(second.Client()).Must(t)
	holder := leader(ctx, t, client)
	assert.True(t, strings.HasPrefix(holder, "n1_"), "%s leads, want the first server", holder)
	machine.Until(t, "both servers among those whose addresses no node may have", func() bool {
		servers, err := client.CoreV1().ConfigMaps("kube-system").Get(ctx, "lifepod-servers", metav1.GetOptions{})
		return err == nil && len(servers.Data) == 2
	})
	assert.Must(t, assert.ErrorOf(first.Kubectl(ctx, job("before-1", "n1")+"---"+job("before-2", "n2"), "apply", "-f", "-")))
	done(ctx, t, client, "before-1")
	done(ctx, t, client, "before-2")

	copies := beginCopies(ctx, t, second, client)
	first.Kill()
	copies.goOn(ctx, t)
	assert.Must(t, assert.ErrorOf(second.Kubectl(ctx, job("after", "n2"), "apply", "-f", "-")))
	done(ctx, t, client, "after")
	holder = leader(ctx, t, client)
	assert.True(t, strings.HasPrefix(holder, "n2_"), "%s leads, want the second server", holder)
	pods := assert.Get(client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "job-name"})).Must(t)
	assert.True(t, len(pods.Items) == 3, "%d pods of three jobs, want one each", len(pods.Items))

	machine.Until(t, "a cluster DNS without the first server", func() bool { return !answers(ctx, t, client, "n1") })
	assert.Must(t, first.Run(ctx))
	again := assert.Get(first.Client()).Must(t)
	machine.Until(t, "the first server in the cluster DNS", func() bool { return answers(ctx, t, again, "n1") })
	holder = leader(ctx, t, again)
	assert.True(t, strings.HasPrefix(holder, "n2_"), "%s leads, want the second server: it gave no reason to lose the lease", holder)
	copies.end(ctx, t)
	second.Stop() // gives the lease up
	assert.Must(t, assert.ErrorOf(first.Kubectl(ctx, job("last", "n1"), "apply", "-f", "-")))
	done(ctx, t, again, "last")
}

func leader(ctx context.Context, t *testing.T, client kubernetes.Interface) string {
	t.Helper()
	lease := assert.Get(client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, lead.LeaseName, metav1.GetOptions{})).Must(t)
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

// answers says whether a node's server is an endpoint of the cluster DNS.
func answers(ctx context.Context, t *testing.T, client kubernetes.Interface, node string) bool {
	t.Helper()
	slice := assert.Get(client.DiscoveryV1().EndpointSlices(metav1.NamespaceSystem).Get(ctx, "kube-dns-"+node, metav1.GetOptions{})).Must(t)
	return *slice.Endpoints[0].Conditions.Ready
}

// done waits for a job.
func done(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	machine.Until(t, "job "+name, func() bool {
		pods, err := client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "job-name=" + name})
		return err == nil && len(pods.Items) == 1 && pods.Items[0].Status.Phase == v1.PodSucceeded
	})
}
