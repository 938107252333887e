package holder

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/containerd/containerd/v2/pkg/sys/reaper"
	"github.com/containerd/go-runc"
	"golang.org/x/sys/unix"
)

// Patience is how long the process may take for what is a matter of milliseconds.
const Patience = 20 * time.Second

// order is all that the process reads before it makes its namespaces; sandbox.c has the same.
// It runs as root, so no text of a pod goes there.
type order struct {
	Made, Joined uint32
	UID, GID     uint32
}

// answer is what the process says; sandbox.c has the same.
type answer struct {
	Error, PID int32
	Step       [120]byte
}

// Holder is the process that holds a sandbox's namespaces, a child of this one.
type Holder struct {
	// PID of the process.
	PID             int
	plan            Plan
	network         *os.File // nil for the machine's
	orders, answers *os.File
	exits           chan Exit
}

// Exit is how a process has ended.
type Exit = runc.Exit

// Begin starts the program, built from pause/sandbox.c, and returns when the process is
// there. It sets the namespaces up with [Holder.Finish]; if this process or the caller
// (by [Holder.Close]) gives up before that, it ends.
//
// Before it makes its namespaces the process is put into its cgroup by join. Exits of
// children are to be reaped by package reaper.
func Begin(program string, p Plan, join func(pid int) error) (*Holder, error) {
	executable, err := sealed(program)
	if err != nil {
		return nil, err
	}
	defer executable.Close()
	h := &Holder{plan: p}
	if err := h.begin(executable, join); err != nil {
		h.Close()
		if h.exits != nil {
			reaper.Default.Unsubscribe(h.exits)
		}
		return nil, fmt.Errorf("make the namespaces of a sandbox: %w", err)
	}
	return h, nil
}

func (h *Holder) begin(executable *os.File, join func(pid int) error) (err error) {
	if h.network, err = open(h.plan.network); err != nil {
		return fmt.Errorf("join the network namespace: %w", err)
	}
	user, err := open(h.plan.user)
	if err != nil {
		return fmt.Errorf("join the user namespace: %w", err)
	}
	defer user.Close()
	cmd, err := h.command(executable, h.network, user)
	if err != nil {
		return err
	}
	h.PID, err = h.clone(cmd, join)
	return err
}

// open returns nil for no path.
func open(path string) (*os.File, error) {
	if path == "" {
		return nil, nil
	}
	return os.Open(path)
}

// sealed is a copy of a program in memory that nobody can write to. A container that
// shares the PID namespace may come by the file of its process 1.
func sealed(program string) (*os.File, error) {
	text, err := os.ReadFile(program)
	if err != nil {
		return nil, fmt.Errorf("read the program of sandboxes: %w", err)
	}
	fd, err := unix.MemfdCreate("pause", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("copy the program of sandboxes: %w", err)
	}
	file := os.NewFile(uintptr(fd), "pause")
	const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE
	_, err = file.Write(text)
	if err == nil {
		_, err = unix.FcntlInt(file.Fd(), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("copy the program of sandboxes: %w", err), file.Close())
	}
	return file, nil
}

// command prepares the program's start; its files are 3, 4 and so on there.
func (h *Holder) command(executable, network, user *os.File) (*exec.Cmd, error) {
	ordersRead, orders, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	answers, answersWrite, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, ordersRead.Close(), orders.Close())
	}
	h.orders, h.answers = orders, answers
	return &exec.Cmd{
		Path: "/proc/self/fd/5", Args: []string{"/pause"}, Dir: "/", Env: []string{},
		ExtraFiles:  []*os.File{ordersRead, answersWrite, executable, network, user},
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, nil
}

// clone has the program make its child, whose PID it returns.
func (h *Holder) clone(cmd *exec.Cmd, join func(pid int) error) (int, error) {
	ended, err := reaper.Default.Start(cmd)
	for _, file := range cmd.ExtraFiles[:2] {
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		return 0, err
	}
	if err := h.answers.SetReadDeadline(time.Now().Add(Patience)); err != nil {
		return 0, err
	}
	err = join(cmd.Process.Pid)
	if err == nil && h.plan.oomScore != nil {
		err = setOOMScore(cmd.Process.Pid, *h.plan.oomScore)
	}
	if err == nil {
		h.exits = reaper.Default.Subscribe()
		err = h.send()
	}
	if err != nil {
		_ = cmd.Process.Kill() // it waits for orders
		_, _ = reaper.Default.Wait(cmd, ended)
		return 0, err
	}
	a, err := h.receive()
	if err != nil {
		_ = cmd.Process.Kill() // should it hang
	}
	code, _ := reaper.Default.Wait(cmd, ended) // it ends when it has answered
	if errors.Is(err, ErrEnded) {
		err = fmt.Errorf("%w with code %d", err, code)
	}
	if err != nil {
		return 0, err
	}
	return int(a.PID), nil
}

// ErrEnded is the error of a process that has ended without an answer.
var ErrEnded = errors.New("its process has ended")

func setOOMScore(pid, score int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte(strconv.Itoa(score)), 0)
}

func (h *Holder) send() error {
	o := order{Made: h.plan.namespaces, UID: h.plan.uid, GID: h.plan.gid}
	if h.plan.network != "" {
		o.Joined |= unix.CLONE_NEWNET
	}
	if h.plan.user != "" {
		o.Joined |= unix.CLONE_NEWUSER
	}
	return binary.Write(h.orders, binary.NativeEndian, o)
}

func (h *Holder) receive() (answer, error) {
	var a answer
	err := binary.Read(h.answers, binary.NativeEndian, &a)
	if errors.Is(err, io.EOF) {
		return a, ErrEnded
	}
	if err != nil {
		return a, err
	}
	if a.Error != 0 {
		step, _, _ := bytes.Cut(a.Step[:], []byte{0})
		return a, fmt.Errorf("%s: %w", step, syscall.Errno(a.Error))
	}
	return a, nil
}

// Finish sets the namespaces up, and returns when the process has given up all that it had of the machine.
func (h *Holder) Finish() error {
	err := h.setUp()
	if err == nil {
		_, _ = h.orders.Write([]byte{1}) // to a process that has ended it fails
		_, err = h.receive()
	}
	if err == nil {
		_, err = io.Copy(io.Discard, h.answers) // until it has closed them
	}
	if err != nil {
		return fmt.Errorf("set up the namespaces of a sandbox: %w", err)
	}
	return nil
}

// Close gives up the connection to the process, which ends if it waits for Finish.
func (h *Holder) Close() {
	_, _, _ = h.orders.Close(), h.answers.Close(), h.network.Close() // a file that is nil is none
}

// Exited waits for the end of the process. It is called once, as soon as Begin has
// returned.
func (h *Holder) Exited() Exit {
	defer reaper.Default.Unsubscribe(h.exits)
	for exit := range h.exits {
		if exit.Pid == h.PID {
			return exit
		}
	}
	panic("the exits of processes have come to an end") // only Unsubscribe ends them
}
