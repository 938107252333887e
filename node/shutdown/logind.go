package shutdown

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

const (
	login1        = "org.freedesktop.login1"
	login1Path    = dbus.ObjectPath("/org/freedesktop/login1")
	login1Manager = login1 + ".Manager"
	prepare       = "PrepareForShutdown"
)

// logind is one connection to systemd-logind.
type logind struct {
	conn    *dbus.Conn
	end     context.CancelFunc
	signals chan *dbus.Signal // closed when the connection is lost
	answer  time.Duration     // how long one may take
}

// defaultAnswer is how long programs wait for an answer on D-Bus, which has no limit itself.
const defaultAnswer = 25 * time.Second

// connect connects to a bus, the system's if the address is empty. Neither that nor a later
// call takes longer than answer: a logind or a bus that hangs is tried again.
func connect(ctx context.Context, address string, answer time.Duration) (*logind, error) {
	// Once it is open, close alone closes the connection, not the end of ctx: see discard.
	opening, end := context.WithCancel(context.WithoutCancel(ctx))
	defer context.AfterFunc(ctx, end)()
	late := time.AfterFunc(answer, end)
	defer late.Stop()
	l, err := open(opening, address)
	if err != nil {
		end()
		return nil, err
	}
	l.end, l.answer = end, answer
	return l, nil
}

// open connects until ctx ends.
func open(ctx context.Context, address string) (*logind, error) {
	open := func() (*dbus.Conn, error) { return dbus.Connect(address, dbus.WithContext(ctx)) }
	if address == "" {
		open = func() (*dbus.Conn, error) { return dbus.ConnectSystemBus(dbus.WithContext(ctx)) }
	}
	conn, err := open()
	if err != nil {
		return nil, fmt.Errorf("connect to D-Bus: %w", err)
	}
	l := &logind{conn: conn, signals: make(chan *dbus.Signal, 8)}
	conn.Signal(l.signals)
	err = conn.AddMatchSignalContext(ctx,
		dbus.WithMatchObjectPath(login1Path), dbus.WithMatchInterface(login1Manager), dbus.WithMatchMember(prepare))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("watch for shutdowns: %w", err), conn.Close())
	}
	return l, nil
}

func (l *logind) close() {
	_ = l.conn.Close() // nothing is under way
	l.end()
}

// call calls a method of an object and waits for the answer.
func (l *logind) call(ctx context.Context, object dbus.BusObject, method string, args ...any) *dbus.Call {
	ctx, cancel := context.WithTimeout(ctx, l.answer)
	defer cancel()
	return object.CallWithContext(ctx, method, 0, args...)
}

func (l *logind) manager() dbus.BusObject { return l.conn.Object(login1, login1Path) }

// inhibit takes a lock that delays shutdowns; closing the file releases it.
func (l *logind) inhibit(ctx context.Context) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, l.answer)
	defer cancel()
	answered := make(chan *dbus.Call, 1)
	l.manager().Go(login1Manager+".Inhibit", 0, answered, "shutdown", "lifepod", "ends the node's pods", "delay")
	select {
	case call := <-answered:
		return lockOf(call)
	case <-ctx.Done():
		discard(answered)
		return nil, fmt.Errorf("take an inhibitor lock of systemd-logind: %w", ctx.Err())
	}
}

// discard releases the lock of an answer that is late: nobody else would. It waits for
// a moment, because a connection that is closed while the answer comes in loses the lock
// without releasing it, and goes on until the connection is closed.
func discard(answered <-chan *dbus.Call) {
	discarded := make(chan struct{})
	go func() {
		defer close(discarded)
		if lock, err := lockOf(<-answered); err == nil {
			_ = lock.Close()
		}
	}()
	select {
	case <-discarded:
	case <-time.After(time.Second):
	}
}

func lockOf(answer *dbus.Call) (*os.File, error) {
	var fd dbus.UnixFD
	if err := answer.Store(&fd); err != nil {
		return nil, fmt.Errorf("take an inhibitor lock of systemd-logind: %w", err)
	}
	unix.CloseOnExec(int(fd)) // no other process may hold it
	return os.NewFile(uintptr(fd), "inhibitor lock"), nil
}

// preparing says whether a shutdown is under way.
func (l *logind) preparing(ctx context.Context) (shuttingDown bool, err error) {
	return shuttingDown, l.property(ctx, "PreparingForShutdown", &shuttingDown)
}

// delay is how long a shutdown waits at most.
func (l *logind) delay(ctx context.Context) (time.Duration, error) {
	var microseconds uint64
	err := l.property(ctx, "InhibitDelayMaxUSec", &microseconds)
	return time.Duration(microseconds) * time.Microsecond, err
}

func (l *logind) property(ctx context.Context, name string, value any) error {
	const get = "org.freedesktop.DBus.Properties.Get"
	var v dbus.Variant
	err := l.call(ctx, l.manager(), get, login1Manager, name).Store(&v)
	if err == nil {
		err = v.Store(value)
	}
	if err != nil {
		return fmt.Errorf("read %s of systemd-logind: %w", name, err)
	}
	return nil
}

// dropIn is the file that raises the delay. Files are read in the order of their names,
// and a kubelet's is 99-kubelet.conf.
const dropIn = "99-lifepod.conf"

// raiseSteps are the pauses before logind is asked whether it has read the file.
var raiseSteps = []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond, 800 * time.Millisecond, 1600 * time.Millisecond}

// raiseDelay has logind wait that long, if it would wait for a shorter time: by a file in its
// folder of drop-ins, which it then reads again.
func (l *logind) raiseDelay(ctx context.Context, folder string, wanted time.Duration) error {
	is, err := l.delay(ctx)
	if err != nil || is >= wanted {
		return err
	}
	seconds := int64((wanted + time.Second - 1) / time.Second)
	content := fmt.Sprintf("# Written by lifepod: its pods have that long to end when the machine shuts down.\n[Login]\nInhibitDelayMaxSec=%d\n", seconds)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("raise InhibitDelayMaxSec of systemd-logind: %w", err)
	}
	if err := wholefile.WriteMode(filepath.Join(folder, dropIn), []byte(content), 0o644); err != nil {
		return fmt.Errorf("raise InhibitDelayMaxSec of systemd-logind: %w", err)
	}
	systemd := l.conn.Object("org.freedesktop.systemd1", "/org/freedesktop/systemd1")
	call := l.call(ctx, systemd, "org.freedesktop.systemd1.Manager.KillUnit", "systemd-logind.service", "all", int32(syscall.SIGHUP))
	if call.Err != nil {
		return fmt.Errorf("have systemd-logind read its configuration: %w", call.Err)
	}
	for _, pause := range raiseSteps {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
		if is, err = l.delay(ctx); err != nil || is >= wanted {
			return err
		}
	}
	return fmt.Errorf("InhibitDelayMaxSec of systemd-logind is %s after it was set to %s: is it set in a file whose name comes after %s?", is, wanted, dropIn)
}

// times are those of the last shutdown. They are kept over it.
type times struct {
	Began time.Time `json:"startTime,omitzero"` // when pods began to be ended
	Ended time.Time `json:"endTime,omitzero"`   // when they had ended; zero: they have not
}

func loadTimes(file string) (t times, err error) {
	if err := wholefile.ReadJSON(file, &t); err != nil {
		return times{}, fmt.Errorf("read the times of the last shutdown: %w", err)
	}
	return t, nil
}

func (t times) save(file string) error {
	err := rootfolder.Ensure(filepath.Dir(file), 0o700)
	if err == nil {
		err = wholefile.WriteJSON(file, t)
	}
	if err != nil {
		return fmt.Errorf("keep the times of the shutdown: %w", err)
	}
	return nil
}

// Times are when the last shutdown began to end pods, and when they had ended; zero: it has
// not. They outlive the machine.
func (w *Watcher) Times() (began, ended time.Time) {
	if w == nil {
		return began, ended
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times.Began, w.times.Ended
}

// note changes the times, which are saved beside: a slow disk delays no pod's end.
func (w *Watcher) note(change func(*times)) {
	w.mu.Lock()
	change(&w.times)
	w.mu.Unlock()
	w.noted.Send()
}

// saves saves the times whenever they have changed, until ctx ends.
func (w *Watcher) saves(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.noted:
		}
		began, ended := w.Times()
		if err := (times{began, ended}).save(w.Record); err != nil {
			w.Log.Warn(err.Error())
		}
	}
}
