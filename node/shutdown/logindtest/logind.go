// Package logindtest has a D-Bus of its own, with a pretended systemd-logind on it.
package logindtest

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	login1    = "org.freedesktop.login1"
	manager   = login1 + ".Manager"
	path      = dbus.ObjectPath("/org/freedesktop/login1")
	systemd1  = "org.freedesktop.systemd1"
	busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <listen>unix:path=%s</listen>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/>
    <allow eavesdrop="true"/>
    <allow own="*"/>
  </policy>
</busconfig>
`
)

// Bus is a dbus-daemon that listens on a socket.
type Bus struct {
	dir    string
	daemon *exec.Cmd
}

// open starts one with its files in dir. Its package is in hack/install-packages.
func open(dir string) (*Bus, error) {
	b := &Bus{dir: dir}
	config := fmt.Sprintf(busConfig, b.socket())
	if err := os.WriteFile(filepath.Join(b.dir, "bus.conf"), []byte(config), 0o600); err != nil {
		return nil, err
	}
	return b, b.Start()
}

func (b *Bus) socket() string { return filepath.Join(b.dir, "bus") }

// Address is what DBUS_SYSTEM_BUS_ADDRESS takes.
func (b *Bus) Address() string { return "unix:path=" + b.socket() }

// Start starts the daemon, again if it was stopped.
func (b *Bus) Start() error {
	_ = os.Remove(b.socket()) // of the one before
	b.daemon = exec.Command("dbus-daemon", "--config-file", filepath.Join(b.dir, "bus.conf"), "--nofork", "--nopidfile", "--print-address")
	b.daemon.Stderr = os.Stderr
	out, err := b.daemon.StdoutPipe()
	if err == nil {
		err = b.daemon.Start()
	}
	if err == nil {
		_, err = bufio.NewReader(out).ReadString('\n') // it listens
	}
	if err != nil {
		b.Stop()
		return fmt.Errorf("start dbus-daemon: %w", err)
	}
	return nil
}

// Stop ends the daemon: everybody loses the connection.
func (b *Bus) Stop() {
	if b.daemon == nil || b.daemon.Process == nil {
		return
	}
	_ = b.daemon.Process.Kill()
	_ = b.daemon.Wait() // it was killed
	b.daemon = nil
}

// Logind is the part of systemd-logind that delays shutdowns.
type Logind struct {
	conn *dbus.Conn

	// DropIns is the folder that it reads when it is told to.
	DropIns string
	// Locks has each lock that was taken.
	Locks chan *Lock

	mu        sync.Mutex
	delay     time.Duration
	preparing bool
}

// Lock is an inhibitor lock.
type Lock struct {
	What, Who, Why, Mode string
	// Released is closed when whoever took it has closed its file.
	Released chan struct{}
}

// openLogind puts one on the bus, which waits for that long at a shutdown.
func (b *Bus) openLogind(delay time.Duration) (*Logind, error) {
	conn, err := dbus.Connect(b.Address())
	if err != nil {
		return nil, fmt.Errorf("pretend a logind: %w", err)
	}
	l := &Logind{conn: conn, DropIns: filepath.Join(b.dir, "logind.conf.d"), Locks: make(chan *Lock, 16), delay: delay}
	errs := []error{
		conn.Export(inhibitor{l}, path, manager),
		conn.Export(properties{l}, path, "org.freedesktop.DBus.Properties"),
		conn.Export(units{l}, "/org/freedesktop/systemd1", systemd1+".Manager"),
	}
	for _, name := range []string{systemd1, login1} {
		_, err := conn.RequestName(name, dbus.NameFlagReplaceExisting)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		l.Close()
		return nil, fmt.Errorf("pretend a logind: %w", err)
	}
	return l, nil
}

// Close leaves the bus.
func (l *Logind) Close() { _ = l.conn.Close() } // nobody waits for an answer

// PrepareForShutdown announces a shutdown, or that it was cancelled.
func (l *Logind) PrepareForShutdown(begins bool) error {
	l.Prepare(begins)
	return l.conn.Emit(path, manager+".PrepareForShutdown", begins)
}

// Prepare says whether a shutdown is under way, without an announcement.
func (l *Logind) Prepare(begins bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.preparing = begins
}

type inhibitor struct{ l *Logind }

// Inhibit gives a lock away. Nobody gets a new one when a shutdown has begun.
func (i inhibitor) Inhibit(what, who, why, mode string) (dbus.UnixFD, *dbus.Error) {
	i.l.mu.Lock()
	defer i.l.mu.Unlock()
	if i.l.preparing {
		return 0, dbus.NewError(login1+".OperationInProgress", []any{"The operation inhibition has been requested for is already running"})
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return 0, dbus.MakeFailedError(err)
	}
	lock := &Lock{What: what, Who: who, Why: why, Mode: mode, Released: make(chan struct{})}
	go func() {
		_, _ = ours.Read(make([]byte, 1)) // nothing is written: it ends when the other side is closed
		_ = ours.Close()
		close(lock.Released)
	}()
	time.AfterFunc(100*time.Millisecond, func() { _ = theirs.Close() }) // the answer has gone by then
	i.l.Locks <- lock
	return dbus.UnixFD(theirs.Fd()), nil
}

type properties struct{ l *Logind }

// Get reads a property.
func (p properties) Get(_, name string) (dbus.Variant, *dbus.Error) {
	p.l.mu.Lock()
	defer p.l.mu.Unlock()
	switch name {
	case "InhibitDelayMaxUSec":
		return dbus.MakeVariant(uint64(p.l.delay.Microseconds())), nil
	case "PreparingForShutdown":
		return dbus.MakeVariant(p.l.preparing), nil
	}
	return dbus.Variant{}, dbus.NewError("org.freedesktop.DBus.Error.UnknownProperty", []any{name})
}

type units struct{ l *Logind }

// KillUnit is how logind is told to read its configuration.
func (u units) KillUnit(unit, who string, signal int32) *dbus.Error {
	if unit != "systemd-logind.service" || who != "all" || signal != 1 {
		return dbus.NewError(systemd1+".NoSuchUnit", []any{unit})
	}
	files, _ := filepath.Glob(filepath.Join(u.l.DropIns, "*.conf")) // the pattern is a good one
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return dbus.MakeFailedError(err)
		}
		for line := range strings.Lines(string(text)) {
			if seconds, is := strings.CutPrefix(strings.TrimSpace(line), "InhibitDelayMaxSec="); is {
				delay, err := time.ParseDuration(seconds + "s")
				if err != nil {
					return dbus.MakeFailedError(err)
				}
				u.l.mu.Lock()
				u.l.delay = delay
				u.l.mu.Unlock()
			}
		}
	}
	return nil
}

// Delay is for how long a shutdown waits.
func (l *Logind) Delay() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay
}
