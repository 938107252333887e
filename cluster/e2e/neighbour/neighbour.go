// Package neighbour makes a second machine with a node that joins the cluster of the
// first, for tests of several.
package neighbour

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/cable"
	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

const Node = "n2"

// Neighbour is another machine with a folder.
type Neighbour struct {
	*cable.Machine
	Program string // lifepod
	Root    string
	Join    *Process // lifepod join

	t       *testing.T
	address string
}

// Config says how another machine is connected with this one.
type Config struct {
	Cable     string // its name, at most 15 bytes
	Near, Far string // addresses here and there, in one /24
}

// New connects one. It ends with its test.
func New(t *testing.T, c Config) *Neighbour {
	t.Helper()
	program := assert.Get(instance.Program("../../..")).Must(t)
	root := assert.Get(os.MkdirTemp("", "lp-far-")).Must(t)
	t.Cleanup(func() { _ = os.RemoveAll(root) }) // empty, unless the test has failed
	return &Neighbour{Machine: cable.New(t, c.Cable, c.Near, c.Far), t: t, Program: program, Root: root, address: c.Far}
}

type Process struct {
	command *exec.Cmd
	ended   chan struct{}
	log     machine.Log
}

func (n *Neighbour) Start(stdin, program string, args ...string) *Process {
	n.t.Helper()
	p := &Process{command: exec.Command(program, args...), ended: make(chan struct{})}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = strings.NewReader(stdin), &p.log, &p.log
	assert.Must(n.t, n.Within(p.command.Start))
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // how it ended is in its log
	}()
	return p
}

func (p *Process) PID() int { return p.command.Process.Pid }

// Ended is closed when it has.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// End ends it, and waits until it has.
func (p *Process) End() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.ended
}

// Story is what it has logged.
func (p *Process) Story() string { return p.log.String() }

// Joins starts lifepod join there by a new token, at port 10350 and with the KubeletConfiguration in a file. The node leaves when the
// test ends.
func (n *Neighbour) Joins(ctx context.Context, to *instance.Instance, configuration string) (token, file string) {
	n.t.Helper()
	token, args, err := to.Invitation(ctx)
	assert.Must(n.t, err)
	file = filepath.Join(n.t.TempDir(), "kubelet.yaml")
	assert.Must(n.t, os.WriteFile(file, []byte(configuration), 0o600))
	words := []string{"join", "--root", n.Root, "--hostname-override", Node, "--node-ip", n.address, "--config", file, "--port", "10350"}
	n.Join = n.Start(token, n.Program, append(words, args...)...)
	n.t.Cleanup(func() {
		if n.t.Failed() {
			n.t.Logf("lifepod join:\n%s", n.Join.Story())
		}
		n.Leave()
	})
	return token, file
}

// Again starts the node there without the token of the first start, and with these flags
// alone.
func (n *Neighbour) Again(flags ...string) {
	n.t.Helper()
	n.Join = n.Start("", n.Program, append([]string{"join", "--root", n.Root}, flags...)...)
}

// Down ends lifepod join and the pods there.
func (n *Neighbour) Down(args ...string) {
	n.t.Helper()
	down := n.Start("", n.Program, append([]string{"down", "--root", n.Root, "--grace-period", "1s"}, args...)...)
	<-down.ended
	if !down.command.ProcessState.Success() {
		n.t.Errorf("lifepod down: %s", down.Story())
		_ = n.Join.command.Process.Kill() // it may have ended
	}
	<-n.Join.ended
}

// Leave ends all there; nothing may be left.
func (n *Neighbour) Leave() {
	n.t.Helper()
	n.Down("--purge")
	for _, left := range (machine.Root{Dir: n.Root}).Left() {
		n.t.Errorf("left behind: %s", left)
	}
}
