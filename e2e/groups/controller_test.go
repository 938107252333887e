package groups

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
)

// jobSet is the JobSet controller with its webhooks, as its own manifests set it up but for
// its address: it runs as a process beside the control plane.
type jobSet struct {
	plane   *controlplane.ControlPlane
	dir     string // of its files
	module  string // of its sources
	port    int    // of its webhooks
	process *machine.Process
}

// startJobSet starts it and waits until it serves.
func startJobSet(ctx context.Context, plane *controlplane.ControlPlane, dir string) (*jobSet, error) {
	j := &jobSet{plane: plane, dir: dir}
	if _, err := os.Stat(plane.Binary("jobset")); err != nil {
		return nil, fmt.Errorf("%w: run `make jobset` first", err)
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset")
	list.Dir = "../controlplane/jobset"
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("find the module of JobSet: %w", err)
	}
	j.module = strings.TrimSpace(string(out))
	if j.port, err = machine.FreePort(); err != nil {
		return nil, err
	}
	if err := j.install(ctx); err != nil {
		return nil, err
	}
	command := exec.Command(plane.Binary("jobset"), "--config", j.file("config.yaml"))
	command.Env = []string{"KUBECONFIG=" + plane.Kubeconfig(), "HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	if j.process, err = machine.StartProcess(command, j.file("jobset.log")); err != nil {
		return nil, err
	}
	return j, j.await(ctx)
}

func (j *jobSet) file(name string) string { return filepath.Join(j.dir, name) }

// install gives the cluster JobSet's resource and its webhooks.
func (j *jobSet) install(ctx context.Context) error {
	authority, err := j.writeCertificate()
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
featureGates: {InPlaceRestart: true}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
`, j.port, j.dir)
	if err := os.WriteFile(j.file("config.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	crd := filepath.Join(j.module, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml")
	if _, err := j.plane.Kubectl(ctx, "", "apply", "--server-side", "--filename", crd); err != nil {
		return err
	}
	webhooks, err := os.ReadFile(filepath.Join(j.module, "config/components/webhook/manifests.yaml"))
	if err != nil {
		return err
	}
	text := string(webhooks)
	for path := range strings.SplitSeq("/mutate-jobset-x-k8s-io-v1alpha2-jobset /mutate--v1-pod /validate-jobset-x-k8s-io-v1alpha2-jobset /validate--v1-pod", " ") {
		service := "    service:\n      name: webhook-service\n      namespace: system\n      path: " + path + "\n"
		url := fmt.Sprintf("    url: https://127.0.0.1:%d%s\n    caBundle: %s\n", j.port, path, base64.StdEncoding.EncodeToString(authority))
		if !strings.Contains(text, service) {
			return fmt.Errorf("JobSet's webhooks have no service with the path %s", path)
		}
		text = strings.ReplaceAll(text, service, url)
	}
	if _, err := j.plane.Kubectl(ctx, text, "apply", "--filename=-"); err != nil {
		return err
	}
	_, err = j.plane.Kubectl(ctx, "", "wait", "--for=condition=Established", "crd/jobsets.jobset.x-k8s.io", "--timeout=60s")
	return err
}

// writeCertificate makes the certificate of the webhooks, which is its own authority.
func (j *jobSet) writeCertificate() (authority []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	authority = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	keyPEM := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	return authority, errors.Join(os.WriteFile(j.file("tls.crt"), authority, 0o600), os.WriteFile(j.file("tls.key"), keyPEM, 0o600))
}

// await waits until the webhooks answer: nothing can be created before.
func (j *jobSet) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", j.port))
		if err == nil {
			return connection.Close()
		}
		select {
		case <-j.process.Ended():
			return fmt.Errorf("the JobSet controller has ended:\n%s", j.process.LastLines(20))
		case <-ctx.Done():
			return fmt.Errorf("the JobSet controller does not serve: %w\n%s", err, j.process.LastLines(20))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Close ends it.
func (j *jobSet) Close() error {
	if j.process == nil {
		return nil
	}
	return j.process.Kill()
}
