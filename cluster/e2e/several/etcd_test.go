package several

import (
	"bytes"
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/cluster/pki"
	"github.com/lifepod/lifepod/cluster/state"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

const etcdURL = "https://" + near + ":12379"

// startEtcd starts one that asks clients for certificates, and returns the flags for
// it.
func startEtcd(t *testing.T) (flags []string) {
	t.Helper()
	dir := t.TempDir()
	keys := assert.Get(pki.Open(pki.Config{Dir: filepath.Join(dir, "pki"), Addresses: []net.IP{net.ParseIP(near)}})).Must(t)
	program := assert.Get(filepath.Abs("../../../.cache/controlplane/bin/etcd")).Must(t)
	command := exec.Command(program, "--data-dir", filepath.Join(dir, "data"), "--enable-grpc-gateway=false",
		"--listen-client-urls", etcdURL, "--advertise-client-urls", etcdURL,
		"--listen-peer-urls", "unix://"+filepath.Join(dir, "peer:0"), "--initial-advertise-peer-urls", "http://localhost:12380",
		"--initial-cluster", "default=http://localhost:12380", "--unsafe-no-fsync",
		"--client-cert-auth", "--trusted-ca-file", keys.CA(), "--cert-file", keys.Serving(), "--key-file", keys.ServingKey())
	var log bytes.Buffer
	command.Stdout, command.Stderr = &log, &log
	assert.Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGKILL)
		_ = command.Wait() // killed
		if t.Failed() {
			t.Logf("etcd:\n%s", log.String())
		}
	})
	place := state.Place{Endpoints: []string{etcdURL}, CAFile: keys.CA(), CertFile: keys.KubeletClient(), KeyFile: keys.KubeletClientKey()}
	machine.Until(t, "etcd", func() bool { _, err := place.Find(t.Context()); return err == nil })
	return []string{"--etcd-endpoints", etcdURL, "--etcd-cafile", place.CAFile, "--etcd-certfile", place.CertFile, "--etcd-keyfile", place.KeyFile}
}

// refused is what a lifepod up says that does not begin.
func refused(ctx context.Context, program string, args ...string) string {
	out, _ := exec.CommandContext(ctx, program, append([]string{"up"}, args...)...).CombinedOutput()
	return string(out)
}
