package controlplane

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// KubectlCommand is a kubectl of an administrator, not yet started: that of lifepod, or the one of separate parts.
func (c *ControlPlane) KubectlCommand(ctx context.Context, args ...string) *exec.Cmd {
	program := c.Binary("kubectl")
	if c.parts == nil {
		program, args = c.up, append([]string{"kubectl", "--root=" + c.state().Dir}, args...)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(),
		"KUBECONFIG="+c.Kubeconfig(),
		// What kubectl remembers of an API server must not outlive it.
		"KUBECACHEDIR="+c.file("kubectl-cache"),
	)
	return cmd
}

// Kubectl runs kubectl as an administrator, with stdin as its input, and
// returns what it printed to its standard output. An error has what it printed
// to the other one.
func (c *ControlPlane) Kubectl(ctx context.Context, stdin string, args ...string) (string, error) {
	cmd := c.KubectlCommand(ctx, args...)
	var out, complaints bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &complaints
	if err := cmd.Run(); err != nil {
		return out.String(), fmt.Errorf("kubectl %s: %w\n%s", strings.Join(args, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return out.String(), nil
}

// Plugin runs lifepod as kubectl lifepod does, as an administrator.
func (c *ControlPlane) Plugin(ctx context.Context, lifepod string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, lifepod, args...)
	command.Args[0] = "kubectl-lifepod"
	command.Env = append(os.Environ(), "KUBECONFIG="+c.Kubeconfig())
	out, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("kubectl lifepod: %w\n%s", err, out)
	}
	return string(out), nil
}
