package pki

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestRun: files are renewed while the cluster runs, the kubeconfigs, too; what can't
// be written one day is on another.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		c := newClock().config(dir)
		c.Now = nil // the bubble's
		f := open(t, c)
		kubeconfig := filepath.Join(dir, "node.kubeconfig")
		assert.Must(t, f.NodeKubeconfig(kubeconfig, "lifepod", "https://127.0.0.1:6443", "n1"))
		first := content(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- f.Run(ctx, slog.New(slog.DiscardHandler)) }()

		time.Sleep(200 * day)
		got := changed(first, content(t, dir))
		assert.True(t, got == nil, "made again after 200 days: %v", got)
		assert.Must(t, os.Rename(f.CA(), f.CA()+".away")) // a kubeconfig needs it
		time.Sleep(50 * day)
		assert.True(t, content(t, dir)["node.kubeconfig"] == first["node.kubeconfig"], "a kubeconfig was made without the authority's certificate")
		assert.Must(t, os.Rename(f.CA()+".away", f.CA()))
		time.Sleep(day + time.Hour)
		if got := leafIn(t, f.Serving(), f.ServingKey()).NotAfter; time.Until(got) < 300*day {
			t.Errorf("the API server's certificate expires in %s", time.Until(got))
		}
		config := assert.Get(clientcmd.LoadFromFile(kubeconfig)).Must(t)
		user := config.AuthInfos["lifepod"]
		assert.True(t, f.fits(pair{user.ClientCertificateData, user.ClientKeyData}, f.ca, nodeLeaf("n1")), "the node's kubeconfig is not renewed")
		cancel()
		assert.NoError(t, <-ended)
	})
}

// TestKubeconfig: one that is of use is kept as it is.
func TestKubeconfig(t *testing.T) {
	c, dir := newClock(), t.TempDir()
	f := open(t, c.config(filepath.Join(dir, "pki")))
	path := filepath.Join(dir, "kubeconfig")
	write := func(cluster, server string) string {
		t.Helper()
		assert.Must(t, f.AdminKubeconfig(path, cluster, server))
		return content(t, dir)["kubeconfig"]
	}
	first := write("lifepod", "https://127.0.0.1:6443")
	assert.True(t, write("lifepod", "https://127.0.0.1:6443") == first, "the same is written again")
	assert.True(t, write("lifepod", "https://127.0.0.1:7443") != first, "another server is not written")
	assert.Must(t, os.WriteFile(path, []byte("half"), 0o600))
	assert.True(t, write("lifepod", "https://127.0.0.1:6443") != "half", "a damaged one is not replaced")
}
