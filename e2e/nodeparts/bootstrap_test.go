package nodeparts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/join"
)

func bootstrap(t *testing.T) string {
	t.Helper()
	path := assert.Get(plane.BootstrapKubeconfig(t.Context())).Must(t)
	data, err := os.ReadFile(path) // each token overwrites the file
	assert.Must(t, err)
	own := filepath.Join(t.TempDir(), "bootstrap.conf")
	assert.Must(t, os.WriteFile(own, data, 0o600))
	return own
}

// requestsOf counts the certificate requests that bear a node's name.
func requestsOf(t *testing.T, node string) []string {
	t.Helper()
	list := assert.Get(admin(t).CertificatesV1().CertificateSigningRequests().List(t.Context(), metav1.ListOptions{})).Must(t)
	var names []string
	for _, r := range list.Items {
		if strings.Contains(commonName(t, r.Spec.Request), node) {
			names = append(names, r.Name)
		}
	}
	return names
}

// TestBootstrap: a node with nothing but a token becomes itself, leaves the files of
// a kubelet, and needs no token the next time.
func TestBootstrap(t *testing.T) {
	o, _ := options(t, "fresh")
	o.BootstrapKubeconfig, o.Rotate = bootstrap(t), true
	c, end := start(t, o)
	<-c.Joined()
	expectUser(t, c, "system:node:fresh")
	end()

	current := filepath.Join(o.CertDir, "kubelet-client-current.pem")
	target, err := os.Readlink(current)
	assert.True(t, err == nil && strings.HasPrefix(filepath.Base(target), "kubelet-client-2"), "%s links to %q, %v", current, target, err)
	for file, mode := range map[string]os.FileMode{target: 0o600, o.Kubeconfig: 0o600} {
		info, err := os.Stat(file)
		assert.True(t, err == nil && info.Mode().Perm() == mode, "%s: %v, %v; want %o", file, info, err, mode)
	}
	config := assert.Get(clientcmd.LoadFromFile(o.Kubeconfig)).Must(t)
	got := config.AuthInfos["default-auth"]
	assert.True(t, got.ClientCertificate == current && got.ClientKey == current, "kubeconfig names %q and %q", got.ClientCertificate, got.ClientKey)
	assert.ErrorIs(t, os.ErrNotExist, assert.ErrorOf(os.Stat(filepath.Join(o.CertDir, "kubelet-client.key.tmp"))), "the temporary key is left")

	o.BootstrapKubeconfig = "/gone/as/kubeadm/removes/it"
	again, _ := start(t, o)
	<-again.Joined()
	expectUser(t, again, "system:node:fresh")
}

// TestKilledBootstrap: killed while its request waits to be approved, the node goes
// on with that request; killed before the kubeconfig was written, it gets the same
// certificate again.
func TestKilledBootstrap(t *testing.T) {
	const autoApprove = "kubeadm:node-autoapprove-bootstrap"
	path := bootstrap(t)
	bindings := admin(t).RbacV1().ClusterRoleBindings()
	binding := assert.Get(bindings.Get(t.Context(), autoApprove, metav1.GetOptions{})).Must(t)
	assert.Must(t, bindings.Delete(t.Context(), autoApprove, metav1.DeleteOptions{}))
	restored := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: autoApprove}, RoleRef: binding.RoleRef, Subjects: binding.Subjects}
	t.Cleanup(func() { restore(t, restored) })

	o, log := options(t, "killed")
	o.BootstrapKubeconfig = path
	_, end := start(t, o)
	log.await(t, "waiting for the node's certificate")
	end()
	first := requestsOf(t, "killed")
	assert.Require(t, len(first) == 1, "requests %v, want one", first)
	keyFile := filepath.Join(o.CertDir, "kubelet-client.key.tmp")
	key := assert.Get(os.ReadFile(keyFile)).Must(t)

	c, end := start(t, o)
	approve(t, first[0])
	<-c.Joined()
	expectUser(t, c, "system:node:killed")
	end()

	// As if killed between the certificate and the kubeconfig.
	assert.Must(t, os.Remove(o.Kubeconfig))
	assert.Must(t, os.WriteFile(keyFile, key, 0o600))
	c, _ = start(t, o)
	<-c.Joined()
	expectUser(t, c, "system:node:killed")
	got := requestsOf(t, "killed")
	assert.True(t, slices.Equal(got, first), "requests %v, want still %v", got, first)
}

// TestAPIServerAway: the node waits until there is an API server.
func TestJoinAPIServerAway(t *testing.T) {
	path := bootstrap(t)
	assert.Must(t, plane.StopAPIServer())
	o, log := options(t, "early")
	o.BootstrapKubeconfig = path
	c := assert.Get(join.Join(o)).Must(t)
	go c.Run(t.Context())
	log.await(t, "no certificate for the node yet")
	assert.Must(t, plane.StartAPIServer(t.Context()))
	<-c.Joined()
	expectUser(t, c, "system:node:early")
}
