package testmachine

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/e2e/testmachine/wire"
	"github.com/lifepod/lifepod/internal/logfile"
)

type Config struct {
	Number       Number    // which one of two
	Repository   string    // the sources
	Architecture string    // amd64 or arm64
	Package      string    // the Debian package of lifepod for it
	Work         string    // an empty folder for the disk
	Network      string    // a folder for the sockets of the network that both have
	CgroupV1     bool      // cgroup v1, which is not Debian's default
	Suite        string    // Debian's release; empty for Debian 12, bookworm
	Log          io.Writer // what is going on; scripts' output goes there, too
}

// Number is 1 or 2.
type Number int

// Name is the machine's host name.
func (n Number) Name() string { return fmt.Sprint("testmachine", int(n)) }

// Address is the machine's IP address.
func (n Number) Address() string { return fmt.Sprint("10.0.2.", 10+int(n)) }

// Machine is a machine that has booted.
type Machine struct {
	accelerator accelerator
	work        string
	log         io.Writer
	process     *machine.Process
	port        net.Conn
	reports     chan wire.Report
	last        int // the latest request's ID
}

// Result is how a script has ended.
type Result struct {
	Output string
	Exit   int
}

// Start makes a machine and boots it. Stop must be called.
func Start(ctx context.Context, c Config) (*Machine, error) {
	arch, err := findArchitecture(c.Architecture)
	if err != nil {
		return nil, err
	}
	arch.suite = cmp.Or(c.Suite, bookworm)
	archive, err := rootArchive(filepath.Join(c.Repository, ".cache", "testmachine"), arch, c.Log)
	if err != nil {
		return nil, err
	}
	if err := makeDisk(c, archive, c.Work); err != nil {
		return nil, fmt.Errorf("make the disk: %w", err)
	}
	var failed error
	for _, a := range arch.accelerators() {
		began := time.Now()
		m, err := boot(ctx, a, c)
		if err == nil {
			fmt.Fprintf(c.Log, "booted with %s in %v\n", a.name, time.Since(began).Round(time.Second))
			if err := m.install(ctx); err != nil {
				return nil, errors.Join(err, m.Stop())
			}
			return m, nil
		}
		fmt.Fprintf(c.Log, "no machine boots with %s here\n", a.name)
		failed = errors.Join(failed, fmt.Errorf("boot with %s: %w", a.name, err))
	}
	return nil, failed
}

func boot(ctx context.Context, a accelerator, c Config) (*Machine, error) {
	m := &Machine{accelerator: a, work: c.Work, log: c.Log, reports: make(chan wire.Report)}
	var err error
	if m.process, err = machine.StartProcess(qemu(a, c), filepath.Join(c.Work, "qemu.log")); err != nil {
		return nil, err
	}
	err = m.connect(ctx)
	if err == nil {
		_, err = m.AwaitBoot(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, m.Stop(), errors.New("QEMU says:\n"+logfile.Tail(filepath.Join(c.Work, "qemu.log"), 0)),
			errors.New("the end of the console:\n"+logfile.Tail(console(c.Work), 0)))
	}
	return m, nil
}

// install installs lifepod as its users do, which a chroot could not do for a machine of
// another architecture.
func (m *Machine) install(ctx context.Context) error {
	result, err := m.Run(ctx, time.Minute, "dpkg -i "+packagePath+" && rm "+packagePath)
	if err == nil && result.Exit != 0 {
		err = fmt.Errorf("exit %d:\n%s", result.Exit, result.Output)
	}
	if err != nil {
		return fmt.Errorf("install %s in the machine: %w", packagePath, err)
	}
	return nil
}

// connect is to be done before the guest opens the port.
func (m *Machine) connect(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		if m.port, err = net.Dial("unix", socket(m.work)); err == nil {
			go m.read()
			return nil
		}
		select {
		case <-m.process.Ended():
			return errors.New("QEMU has ended at once")
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// read ends when QEMU does.
func (m *Machine) read() {
	defer close(m.reports)
	lines := bufio.NewReader(m.port)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var report wire.Report
		if err := json.Unmarshal(line, &report); err != nil {
			fmt.Fprintf(m.log, "half a line of a machine that went down: %q\n", line)
			continue
		}
		m.reports <- report
	}
}

// Slack is d, or as much longer as this machine is slower than real ones.
func (m *Machine) Slack(d time.Duration) time.Duration { return d * time.Duration(m.accelerator.slack) }

// AwaitBoot returns the boot ID of a machine that boots, when it can run scripts.
func (m *Machine) AwaitBoot(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, m.accelerator.boot)
	defer cancel()
	for {
		report, err := m.next(ctx)
		if err != nil {
			return "", fmt.Errorf("wait until the machine has booted: %w", err)
		}
		if report.Boot != "" {
			return report.Boot, nil
		}
	}
}

// Run runs a script with bash and returns when it has ended, which it has to within
// patience on a real machine.
func (m *Machine) Run(ctx context.Context, patience time.Duration, script string) (Result, error) {
	m.last++
	limit := m.Slack(patience)
	text, err := json.Marshal(wire.Request{ID: m.last, Script: script, Seconds: int(limit.Seconds())})
	if err != nil {
		return Result{}, err
	}
	if _, err := m.port.Write(append(text, '\n')); err != nil {
		return Result{}, fmt.Errorf("send a script to the machine: %w", err)
	}
	// A machine that does not answer, although its own limit is over, hangs.
	ctx, cancel := context.WithTimeout(ctx, limit+m.Slack(10*time.Second))
	defer cancel()
	var result Result
	for {
		report, err := m.next(ctx)
		switch {
		case err != nil:
			return result, err
		case report.Boot != "":
			return result, errors.New("the machine has booted again in the middle of a script")
		case report.ID != m.last:
			continue // of a script that a reboot has ended
		}
		result.Output += report.Output
		_, _ = io.WriteString(m.log, report.Output)
		if report.Exit == nil {
			continue
		}
		result.Exit = *report.Exit
		if report.Error != "" {
			return result, errors.New(report.Error)
		}
		return result, nil
	}
}

func (m *Machine) next(ctx context.Context) (wire.Report, error) {
	select {
	case report, open := <-m.reports:
		if !open {
			return report, errors.New("the machine is off")
		}
		return report, nil
	case <-ctx.Done():
		return wire.Report{}, fmt.Errorf("the machine does not answer: %w", context.Cause(ctx))
	}
}

// AwaitOff returns when the machine has switched itself off.
func (m *Machine) AwaitOff(patience time.Duration) error {
	off := time.After(m.Slack(patience))
	reports := m.reports
	for {
		select {
		case <-m.process.Ended():
			return nil
		case _, open := <-reports: // of scripts that end with it
			if !open {
				reports = nil
			}
		case <-off:
			return fmt.Errorf("the machine is not off after %v; the end of its console:\n%s", m.Slack(patience), logfile.Tail(console(m.work), 0))
		}
	}
}

// ReadFile reads a file of the machine's disk once the machine is off.
func (m *Machine) ReadFile(path string) (string, error) {
	out, err := exec.Command("debugfs", "-R", "cat "+path, filepath.Join(m.work, "disk")).Output()
	if err != nil {
		return "", fmt.Errorf("read %s of the machine's disk: %w", path, err)
	}
	return string(out), nil
}

// Stop switches the machine off hard, if it runs, and removes its sockets.
func (m *Machine) Stop() error {
	err := m.process.Signal(os.Kill)
	<-m.process.Ended()
	if m.port != nil {
		err = errors.Join(err, m.port.Close())
		for range m.reports { // until the reader has ended
		}
	}
	if left := os.Remove(socket(m.work)); !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, left)
	}
	return err
}
