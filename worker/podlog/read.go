package podlog

import (
	"context"
	"path/filepath"

	"github.com/lifepod/lifepod/worker/criconfig"
)

// OpenInstance opens the log of one instance below a pod's log folder, nil if there is
// none. dropped is called once if something could not be read, see Open.
func OpenInstance(dir, container string, instance int, dropped func()) *Log {
	return Open(filepath.Join(dir, criconfig.ContainerLogPath(container, instance)), dropped)
}

// over is closed: what there is is all that is wanted.
var over = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// All writes what there is of a log.
func (l *Lines) All(log *Log) {
	l.skip(log)
	r := NewReader(log, l.Record)
	r.Until(over)
	r.Close()
	l.Flush()
	l.Live()
}

// Follow writes a log until its instance has ended, which the channel says that
// ended gives, or ctx has, or Err says why it can't go on. flush is called after
// each record that is new. Lines without an end are written at the end.
func (l *Lines) Follow(ctx context.Context, log *Log, ended func(context.Context) <-chan struct{}, flush func()) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.skip(log)
	live := false
	r := NewReader(log, func(record string) {
		l.Record(record)
		if live {
			flush()
		}
		if l.err != nil {
			cancel()
		}
	})
	r.Until(over)
	live = true
	l.Live()
	flush()
	if l.err != nil {
		cancel()
	}
	r.Until(ended(ctx))
	if ctx.Err() == nil {
		r.Finish()
	}
	r.Close()
	l.Flush()
}

// skip leaves out most of what Tail would drop.
func (l *Lines) skip(log *Log) {
	if l.options.Tail >= 0 && l.options.Stream == "" {
		log.SkipToLast(l.options.Tail)
	}
}
