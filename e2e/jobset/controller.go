package jobset

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/cert"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
)

type Config struct {
	Plane *controlplane.ControlPlane
	Dir   string // an empty folder for its files
	// QPS limits the rate of its requests; 0: the 500 in a second of its own.
	QPS int
}

// Controller is the JobSet controller with its webhooks, as its own manifests set it up but for
// its address: it runs as a process beside the control plane.
type Controller struct {
	config     Config
	repository string // folder of lifepod's sources
	module     string // folder of its own
	port       int    // of its webhooks
	webhooks   string // their manifest, once they may be there
	process    *machine.Process
}

const usualQPS = 500

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

// Start starts it and waits until it serves. After an error nothing of it is left.
func Start(ctx context.Context, config Config) (*Controller, error) {
	c := &Controller{config: config}
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Controller) start(ctx context.Context) (err error) {
	program := c.config.Plane.Binary("jobset")
	if _, err := os.Stat(program); err != nil {
		return fmt.Errorf("%w: run `make jobset` first", err)
	}
	if err := c.find(ctx); err != nil {
		return err
	}
	if c.port, err = machine.FreePort(); err != nil {
		return err
	}
	if err := c.install(ctx); err != nil {
		return err
	}
	command := exec.Command(program, "--config", c.file("config.yaml"))
	command.Env = []string{"KUBECONFIG=" + c.config.Plane.Kubeconfig(), "HOME=" + c.config.Dir, "PATH=" + os.Getenv("PATH")}
	if c.process, err = machine.StartProcess(command, c.file("jobset.log")); err != nil {
		return err
	}
	return c.await(ctx)
}

// find finds the sources of lifepod, and those of JobSet in the version that e2e/controlplane/jobset pins.
func (c *Controller) find(ctx context.Context) error {
	out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("find lifepod's module: %w", err)
	}
	c.repository = filepath.Dir(strings.TrimSpace(string(out)))
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/jobset")
	list.Dir = filepath.Join(c.repository, "e2e", "controlplane", "jobset")
	if out, err = list.Output(); err != nil {
		return fmt.Errorf("find the module of JobSet: %w", err)
	}
	c.module = strings.TrimSpace(string(out))
	return nil
}

// Grant applies the manifests of docs/groups.md that let nodes read what they have to know of groups, in all namespaces.
func (c *Controller) Grant(ctx context.Context) error {
	docs, err := os.ReadFile(filepath.Join(c.repository, "docs/groups.md"))
	if err != nil {
		return err
	}
	everywhere := strings.NewReplacer("kind: RoleBinding", "kind: ClusterRoleBinding", ", namespace: default", "")
	var roles []string
	for block := range strings.SplitSeq(string(docs), "```yaml\n") {
		if text, _, _ := strings.Cut(block, "```"); strings.Contains(text, "kind: ClusterRole\n") {
			roles = append(roles, text)
		}
	}
	if len(roles) == 0 {
		return errors.New("docs/groups.md has no ClusterRole")
	}
	_, err = c.config.Plane.Kubectl(ctx, everywhere.Replace(strings.Join(roles, "---\n")), "apply", "--filename=-")
	return err
}

func (c *Controller) file(name string) string { return filepath.Join(c.config.Dir, name) }

// install gives the cluster JobSet's resource and its webhooks.
func (c *Controller) install(ctx context.Context) error {
	authority, err := c.writeCertificate()
	if err != nil {
		return err
	}
	config := fmt.Sprintf(`
apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
featureGates: {InPlaceRestart: true}
leaderElection: {leaderElect: false}
clientConnection: {qps: %[3]d, burst: %[3]d}
internalCertManagement: {enable: false}
webhook: {host: 127.0.0.1, port: %[1]d, certDir: %[2]s}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: "0"}
`, c.port, c.config.Dir, cmp.Or(c.config.QPS, usualQPS))
	if err := os.WriteFile(c.file("config.yaml"), []byte(config), 0o600); err != nil {
		return err
	}
	crd := filepath.Join(c.module, "config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml")
	if _, err := c.config.Plane.Kubectl(ctx, "", "apply", "--server-side", "--filename", crd); err != nil {
		return err
	}
	webhooks, err := os.ReadFile(filepath.Join(c.module, "config/components/webhook/manifests.yaml"))
	if err != nil {
		return err
	}
	text := string(webhooks)
	for path := range strings.SplitSeq("/mutate-jobset-x-k8s-io-v1alpha2-jobset /mutate--v1-pod /validate-jobset-x-k8s-io-v1alpha2-jobset /validate--v1-pod", " ") {
		service := "    service:\n      name: webhook-service\n      namespace: system\n      path: " + path + "\n"
		url := fmt.Sprintf("    url: https://127.0.0.1:%d%s\n    caBundle: %s\n", c.port, path, base64.StdEncoding.EncodeToString(authority))
		if !strings.Contains(text, service) {
			return fmt.Errorf("JobSet's webhooks have no service with the path %s", path)
		}
		text = strings.ReplaceAll(text, service, url)
	}
	c.webhooks = text
	if _, err := c.config.Plane.Kubectl(ctx, text, "apply", "--filename=-"); err != nil {
		return err
	}
	return c.awaitEstablished(ctx)
}

// awaitEstablished waits until the API server serves JobSets. kubectl wait fails at once as long as nothing is known of that.
func (c *Controller) awaitEstablished(ctx context.Context) error {
	var failed error
	_ = wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		_, failed = c.config.Plane.Kubectl(ctx, "", "wait", "--for=condition=Established", "crd/jobsets.jobset.x-k8s.io", "--timeout=60s")
		return failed == nil, nil
	})
	return failed
}

// writeCertificate makes the certificate of the webhooks, with its authority.
func (c *Controller) writeCertificate() (authority []byte, err error) {
	authority, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return nil, err
	}
	return authority, errors.Join(os.WriteFile(c.file("tls.crt"), authority, 0o600), os.WriteFile(c.file("tls.key"), key, 0o600))
}

// await waits until the webhooks answer: nothing can be created before.
func (c *Controller) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", c.port))
		if err == nil {
			return connection.Close()
		}
		select {
		case <-c.process.Ended():
			return fmt.Errorf("the JobSet controller has ended:\n%s", c.process.LastLines(20))
		case <-ctx.Done():
			return fmt.Errorf("the JobSet controller does not serve: %w\n%s", err, c.process.LastLines(20))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Module is the folder of JobSet's sources.
func (c *Controller) Module() string { return c.module }

// PID is that of its process.
func (c *Controller) PID() int { return c.process.PID() }

// LastLines are the last ones of its log.
func (c *Controller) LastLines(count int) []byte { return c.process.LastLines(count) }

// Close ends it. JobSets stay, and nobody looks after them; nobody checks pods either.
func (c *Controller) Close() (err error) {
	if c.process != nil {
		err = c.process.Kill()
	}
	if c.webhooks != "" {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		_, deleted := c.config.Plane.Kubectl(ctx, c.webhooks, "delete", "--ignore-not-found", "--filename=-")
		err = errors.Join(err, deleted)
	}
	return err
}
