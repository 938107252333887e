package server

import (
	"context"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/worker/podlog"
)

// Logs are what containers have written.
type Logs interface {
	// Open opens the log of an instance, which its caller closes; nil: there is none. dropped is called once if part
	// of it could not be read, or was removed before it was.
	Open(pod *v1.Pod, container string, instance int, dropped func()) Log
}

// Log is that of one instance.
type Log interface {
	// All gives out what there is.
	All(to *podlog.Lines)
	// Follow also gives out what comes, until its instance has ended, which the channel says that ended gives, or ctx
	// has, or nobody takes it. flush is called after each line that is new.
	Follow(ctx context.Context, to *podlog.Lines, ended func(context.Context) <-chan struct{}, flush func())
	Close()
}

// LogFiles are the logs that a container runtime has written, of each pod below its folder.
type LogFiles func(pod *v1.Pod) (dir string)

// Open opens the files of an instance.
func (dir LogFiles) Open(pod *v1.Pod, container string, instance int, dropped func()) Log {
	log := podlog.OpenInstance(dir(pod), container, instance, dropped)
	if log == nil {
		return nil
	}
	return logFile{log}
}

// logFile is one that a container runtime writes.
type logFile struct{ *podlog.Log }

// All gives out what there is.
func (f logFile) All(to *podlog.Lines) { to.All(f.Log) }

// Follow also gives out what comes.
func (f logFile) Follow(ctx context.Context, to *podlog.Lines, ended func(context.Context) <-chan struct{}, flush func()) {
	to.Follow(ctx, f.Log, ended, flush)
}
