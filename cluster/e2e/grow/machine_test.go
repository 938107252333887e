package grow

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/lifepod/lifepod/cluster/e2e/cable"
	"github.com/lifepod/lifepod/e2e/machine"
)

// Addresses of the other machine and of this one on the cable between them, from
// the range for tests of networks (RFC 2544).
const near, far = "198.18.75.1", "198.18.75.2"

// neighbour is another machine with a folder.
type neighbour struct {
	*cable.Machine
	t       *testing.T
	program string // lifepod
	root    string
	node    *process // lifepod join
}

func newNeighbour(t *testing.T, program string) *neighbour {
	t.Helper()
	root, err := os.MkdirTemp("", "lp-grow-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) }) // empty, unless the test has failed
	return &neighbour{Machine: cable.New(t, "lpgrow0", near, far), t: t, program: program, root: root}
}

// plug connects the machine, or cuts it off.
func (n *neighbour) plug(in bool) {
	n.t.Helper()
	if err := n.Plug(in); err != nil {
		n.t.Fatal(err)
	}
}

// process is one on the other machine.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	mu      sync.Mutex // of log
	log     bytes.Buffer
}

// start starts a program there.
func (n *neighbour) start(stdin, program string, args ...string) *process {
	n.t.Helper()
	p := &process{command: exec.Command(program, args...), ended: make(chan struct{})}
	p.command.Stdin, p.command.Stdout, p.command.Stderr = strings.NewReader(stdin), p, p
	if err := n.Within(p.command.Start); err != nil {
		n.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.command.Wait() // how it ended is in its log
	}()
	return p
}

// end ends it, and waits until it has.
func (p *process) end() {
	_ = p.command.Process.Signal(syscall.SIGTERM) // it may have ended
	<-p.ended
}

// Write is for what it logs.
func (p *process) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(text)
}

func (p *process) story() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// join starts lifepod join there.
func (n *neighbour) join(token string, args ...string) {
	n.t.Helper()
	n.node = n.start(token, n.program, append([]string{"join", "--root", n.root, "--hostname-override", "n2", "--node-ip", far}, args...)...)
}

// again starts the node there without the flags and the token of the first start.
func (n *neighbour) again() {
	n.t.Helper()
	n.node = n.start("", n.program, "join", "--root", n.root)
}

// down ends lifepod join and the pods there.
func (n *neighbour) down(args ...string) {
	n.t.Helper()
	down := n.start("", n.program, append([]string{"down", "--root", n.root, "--grace-period", "1s"}, args...)...)
	<-down.ended
	if !down.command.ProcessState.Success() {
		n.t.Errorf("lifepod down: %s", down.story())
		_ = n.node.command.Process.Kill() // it may have ended
	}
	<-n.node.ended
}

// leave ends all there; nothing may be left.
func (n *neighbour) leave() {
	n.t.Helper()
	n.down("--purge")
	for _, left := range (machine.Root{Dir: n.root}).Left() {
		n.t.Errorf("left behind: %s", left)
	}
}
