package server

import (
	"bytes"
	"context"
	"io"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/worker/podlog"
)

// A client that wants all output of a container, as kubectl run -i does, first reads its log and then attaches. A runtime gives it what
// is written from some moment after that on, so what is written in between would be missing. It is in the log.
const (
	// justNow is how long after its log was read a container that is attached to has its output since then shown.
	justNow = 5 * time.Second
	// oneLook is when a session that has got nothing from the runtime yet is looked after, and a container's end may take to be known.
	oneLook = time.Second
	// maxMissing is how much output is looked through for what is missing.
	maxMissing = 1 << 20
)

// instanceKey is one instance of a container.
type instanceKey struct {
	pod       types.UID
	container string
	instance  int
}

// logReads are the logs that were read to their end just now. The zero value is ready for use.
type logReads struct {
	mu    sync.Mutex
	reads map[instanceKey]logRead
}

type logRead struct {
	at             time.Time
	stdout, stderr time.Time // of the newest record of each
}

func (l *logReads) note(of instanceKey, lines *podlog.Lines) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	for key, r := range l.reads {
		if now.Sub(r.at) > justNow {
			delete(l.reads, key)
		}
	}
	if l.reads == nil {
		l.reads = map[instanceKey]logRead{}
	}
	read := logRead{at: now}
	read.stdout, read.stderr = lines.Newest()
	l.reads[of] = read
}

func (l *logReads) of(key instanceKey) (logRead, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	read, found := l.reads[key]
	return read, found && time.Since(read.at) <= justNow
}

// missing is what a session with a container's own streams may lack.
type missing struct {
	server         *Server
	of             logOf
	stdout, stderr time.Time // all that was written from then on is wanted
}

// missing is that of a session which begins now.
func (s *Server) missing(pod *v1.Pod, container string) *missing {
	status, now := podlog.StatusOf(pod, container), time.Now()
	m := &missing{server: s, of: logOf{pod: pod, container: container, instance: int(status.RestartCount)}, stdout: now, stderr: now}
	if read, found := s.reads.of(instanceKey{pod.UID, container, m.of.instance}); found {
		m.stdout, m.stderr = read.stdout.Add(1), read.stderr.Add(1)
	}
	return m
}

// before shows what was written before the session, and gives back what its output is written to, and what is to be called at its end.
func (m *missing) before(ctx context.Context, stdout, stderr io.Writer) (out, errOut io.Writer, end func()) {
	var all []*catchUp
	of := func(w io.Writer, stream runtimeapi.LogStreamType, since time.Time) io.Writer {
		if w == nil {
			return nil
		}
		c := &catchUp{m: m, w: w, stream: string(stream), since: since}
		c.fill(ctx, func() bool { return true })
		all = append(all, c)
		return c
	}
	out, errOut = of(stdout, runtimeapi.Stdout, m.stdout), of(stderr, runtimeapi.Stderr, m.stderr)
	timer := time.AfterFunc(oneLook, func() {
		for _, c := range all {
			c.fill(ctx, func() bool { return !c.came })
		}
	})
	return out, errOut, func() {
		timer.Stop()
		wait, cancel := context.WithTimeout(ctx, oneLook)
		defer cancel()
		<-m.server.ended(wait, m.of) // then its log is complete
		for _, c := range all {
			c.fill(ctx, func() bool { return wait.Err() == nil })
		}
	}
}

// catchUp is one stream of a session.
type catchUp struct {
	m      *missing
	w      io.Writer
	stream string
	since  time.Time

	mu    sync.Mutex
	shown int  // bytes since then: the first ones of the log, then the last ones, which the runtime has given
	front int  // how many of them are the first ones
	came  bool // something from the runtime
}

// Write shows what comes from the runtime.
func (c *catchUp) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.came = true
	n, err := c.w.Write(p)
	c.shown += n
	return n, err
}

// fill shows what the log has more than was shown, if that is meant.
func (c *catchUp) fill(ctx context.Context, meant func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.shown > maxMissing || ctx.Err() != nil || !meant() {
		return
	}
	text := c.written()
	if gap := len(text) - c.shown; gap > 0 {
		n, _ := c.w.Write(text[c.front : c.front+gap]) // a client that has gone ends the session
		c.shown, c.front = c.shown+n, c.front+n
	}
}

// written is what is in the log; nothing, if it is much.
func (c *catchUp) written() []byte {
	log := c.m.server.Node.Open(c.m.of.pod, c.m.of.container, c.m.of.instance, func() {})
	if log == nil {
		return nil
	}
	defer log.Close()
	var text bytes.Buffer
	lines := podlog.NewLines(&text, podlog.LineOptions{Tail: -1, Since: c.since, Stream: c.stream, Limit: maxMissing})
	log.All(lines)
	if lines.Err() != nil {
		return nil
	}
	return text.Bytes()
}
