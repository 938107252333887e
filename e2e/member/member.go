package member

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/e2e/controlplane"
	"github.com/lifepod/lifepod/e2e/machine"
)

// patience is how long anything may take before a test gives up.
var patience = machine.Patience

type Config struct {
	// Plane is the cluster's control plane.
	Plane *controlplane.ControlPlane
	// Program is the lifepod to run as an agent or, if its file name is kubelet,
	// a kubelet.
	Program string
	// Name of the node, by default one that no other has.
	Name string
	// Dir is the state folder, by default a new one for temporary files. Close
	// removes it.
	Dir string
	// Bootstrap lets the node join with a bootstrap token, as a new machine
	// does. By default it has its certificate.
	Bootstrap bool
	// Kubelet are fields of the KubeletConfiguration, beside those that every
	// member needs; one of these replaces a default. With a
	// containerRuntimeEndpoint lifepod has its folders and cgroups where a kubelet
	// would, so that one can be the other's successor (Become).
	Kubelet map[string]any
	// Flags follow those that every member needs.
	Flags []string
	// Network is the path of a network namespace for its processes, and Address where others reach it there; empty: those of the
	// machine.
	Network, Address string
}

// Member is a node's process, and what it leaves on the machine between two of
// them. Its methods must not be called concurrently, but for the Await… ones.
type Member struct {
	config Config
	// Name is the name of the Node object.
	Name string
	// Root is the state folder, as it shows on the machine.
	Root machine.Root
	// Port is that of the node's API, HealthPort that of its healthz.
	Port, HealthPort int

	client     kubernetes.Interface
	kubeconfig string
	bootstrap  string // kubeconfig, if it joins that way
	process    *machine.Process
}

// Start starts a member; AwaitReady tells when it can run pods. After an error
// nothing is left.
func Start(ctx context.Context, config Config) (*Member, error) {
	m := &Member{config: config, Name: config.Name}
	err := m.prepare(ctx)
	if err == nil {
		err = m.Run()
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

func (m *Member) prepare(ctx context.Context) (err error) {
	dir := m.config.Dir
	if dir == "" {
		dir, err = os.MkdirTemp("", "lp-member-")
	} else {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return err
	}
	m.Root = machine.Root{Dir: dir}
	if m.Name == "" {
		m.Name = "node-" + m.Root.Hash()
	}
	if m.client, err = kubernetes.NewForConfig(m.config.Plane.RESTConfig()); err != nil {
		return err
	}
	if err := m.writeIdentity(ctx); err != nil {
		return err
	}
	return m.writeConfiguration()
}

// writeIdentity gives the node what it joins with.
func (m *Member) writeIdentity(ctx context.Context) (err error) {
	if !m.config.Bootstrap {
		m.kubeconfig, err = m.config.Plane.JoinedKubeconfig(m.Name)
		return err
	}
	m.kubeconfig = m.file("joined.kubeconfig")
	m.bootstrap, err = m.config.Plane.BootstrapKubeconfig(ctx)
	return err
}

// Run starts the process, for the first time or again after Stop or Kill.
func (m *Member) Run() error {
	process, err := machine.StartProcess(m.command(context.Background(), m.flags()...), m.LogFile())
	if err != nil {
		return err
	}
	m.process = process
	return nil
}

// command is one of its program, in its network.
func (m *Member) command(ctx context.Context, args ...string) *exec.Cmd {
	if m.config.Network == "" {
		return exec.CommandContext(ctx, m.config.Program, args...)
	}
	return exec.CommandContext(ctx, "nsenter", append([]string{"--net=" + m.config.Network, "--", m.config.Program}, args...)...)
}

// RootDir is the folder of pods and plugins.
func (m *Member) RootDir() string {
	if m.likeKubelet() {
		return m.file(kubeletDir)
	}
	return m.Root.Dir
}

// flags of the program, lifepod agent or the kubelet.
func (m *Member) flags() []string {
	rootDir := m.RootDir()
	flags := []string{"--root-dir=" + rootDir}
	if !m.isKubelet() {
		flags = []string{"agent", "--root=" + m.Root.Dir, "--root-dir=" + rootDir}
	}
	flags = append(flags, "--cert-dir="+m.file("pki"), "--kubeconfig="+m.kubeconfig,
		"--config="+m.file(configurationFile), "--hostname-override="+m.Name)
	if m.bootstrap != "" {
		flags = append(flags, "--bootstrap-kubeconfig="+m.bootstrap)
	}
	if m.config.Address != "" {
		flags = append(flags, "--node-ip="+m.config.Address)
	}
	return append(flags, m.config.Flags...)
}

// Address is the node's own, at which its pods reach the machine. The node has to be ready.
func (m *Member) Address(ctx context.Context) (string, error) {
	node, err := m.client.CoreV1().Nodes().Get(ctx, m.Name, metav1.GetOptions{})
	if err != nil {
		return "", err
	}
	for _, address := range node.Status.Addresses {
		if address.Type == v1.NodeInternalIP {
			return address.Address, nil
		}
	}
	return "", fmt.Errorf("node %s has no address", m.Name)
}

// Become makes program the one that Run starts next, after Stop or Kill: the same
// node, from the same files.
func (m *Member) Become(program string) { m.config.Program = program }

// Process is the one that runs, or ran last.
func (m *Member) Process() *machine.Process { return m.process }

// LogFile has what all its processes printed.
func (m *Member) LogFile() string { return m.file("agent.log") }

// Kill kills the process, as the kernel would for want of memory.
func (m *Member) Kill() error { return m.process.Kill() }

// Stop ends the process in order, as an upgrade would: its pods go on.
func (m *Member) Stop() error {
	if err := m.process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-m.process.Ended():
		return nil
	case <-time.After(patience):
		return errors.Join(fmt.Errorf("%s still runs %v after SIGTERM", m.Name, patience), m.process.Kill())
	}
}

// Close ends the node: it deletes the pods that the node still has, waits until
// their traces are gone, stops the process and removes all files. Whatever a pod
// has left is an error, and removed, too. Of a node whose process was killed or
// stopped before, its pods included, everything is swept up.
func (m *Member) Close() error {
	var errs []error
	if m.process != nil && !m.process.HasEnded() {
		errs = append(errs, m.removePods(), m.Stop())
	}
	if m.Root.Dir == "" {
		return errors.Join(errs...)
	}
	errs = append(errs, m.sweep())
	if left := m.left(); len(left) > 0 {
		errs = append(errs, fmt.Errorf("%s left behind:\n  %s", m.Name, strings.Join(left, "\n  ")))
	}
	return errors.Join(append(errs, os.RemoveAll(m.Root.Dir))...)
}

// sweep removes the runtime of the node, which outlives the agent, and its network.
func (m *Member) sweep() error {
	if m.likeKubelet() {
		if err := m.sweepKubelet(); err != nil || m.isKubelet() {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	out, err := m.command(ctx, "down", "--grace-period", "1s", "--root", m.Root.Dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("end what %s left: %w\n%s", m.Name, err, out)
	}
	return nil
}

func (m *Member) file(name string) string { return filepath.Join(m.Root.Dir, name) }
