package worker

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/lifepod/lifepod/internal/kernellog"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// journalState keeps what happens to the pod. It never holds the pod up: what can't be written
// waits, and is lost if it is too much. The worker's goroutine owns it.
type journalState struct {
	writer *journal.Writer // nil: nothing is kept

	mu    sync.Mutex
	since time.Time // a failure was last logged

	ends   sync.Mutex // held while ends are written
	unkept []keptEnd  // for which the disk had no room
}

// keptEnd is an end with its log.
type keptEnd struct {
	journal.End
	log []byte
}

// mostUnkept is how many ends of a pod wait for room on the disk.
const mostUnkept = 6

// openJournal goes on with the pod's journal, or begins it.
func (w *Worker) openJournal() {
	writers := w.executor.engine.Folders.Journal
	if writers == nil {
		return
	}
	writer, err := writers.Create(journal.PodOf(w.pod))
	if err != nil {
		w.journalFailed(err)
		return
	}
	w.journal.writer = writer
	for _, end := range writer.Unkept() {
		w.keepEnd(writer.Dir(), end)
	}
}

// closeJournal ends the writing, once nothing goes on beside the worker.
func (w *Worker) closeJournal() {
	if w.journal.writer != nil {
		w.keepEnds(w.journal.writer.Dir())
		w.journalFailed(w.journal.writer.Close())
	}
}

// note writes a step to the journal, before its effects are carried out: what lifepod has
// done, the journal knows.
func (w *Worker) note(at time.Time, fact lifecycle.Fact, effects []lifecycle.Effect) {
	writer := w.journal.writer
	if writer == nil {
		return
	}
	if w.machine.PodChanged() {
		w.journalFailed(writer.Is(journal.PodOf(w.machine.Pod())))
	}
	began := time.Now()
	entries, err := writer.Step(at, fact, effects)
	if wrote := w.executor.engine.JournalWrote; wrote != nil && err == nil && len(entries) > 0 {
		wrote(len(entries), time.Since(began), nil)
	}
	w.journalFailed(err)
	for _, e := range entries {
		if e.Exit != nil && e.Container != "" {
			w.keepEnd(writer.Dir(), writer.End(e))
		}
	}
}

// keepEnd keeps how an instance ended: its log goes with it, and what the pod had used then
// can't be measured later. It is done beside the worker, which has a restart to make.
func (w *Worker) keepEnd(dir string, end journal.End) {
	executor := w.executor
	w.beside(end, func() {
		log := filepath.Join(executor.engine.Config.PodLogDirectory(executor.pod), criconfig.ContainerLogPath(end.Container, int(end.Attempt)))
		records := written(log, 4*journal.LogBytes) // with a time before each
		text := recordsText(records)
		end.Said = said(records)
		if used, err := executor.engine.Cgroups.Used(executor.pod); err == nil {
			end.Usage = &journal.Usage{
				MemoryPeakBytes: used.MemoryPeak, MemoryLimitBytes: used.MemoryLimit, CPU: used.CPU, Throttled: used.Throttled, OOMKills: used.OOMKills,
			}
		}
		end.Killed = killedIn(end)
		w.keepEnds(dir, keptEnd{end, []byte(text)})
	})
}

// keepEnds writes ends, and before them those that the disk had no room for.
func (w *Worker) keepEnds(dir string, ends ...keptEnd) {
	w.journal.ends.Lock()
	defer w.journal.ends.Unlock()
	all := slices.Concat(w.journal.unkept, ends)
	w.journal.unkept = nil
	for _, end := range all {
		err := journal.KeepEnd(dir, end.End, end.log)
		w.journalFailed(err)
		if errors.Is(err, unix.ENOSPC) {
			w.journal.unkept = append(w.journal.unkept, end)
		}
	}
	w.journal.unkept = w.journal.unkept[max(0, len(w.journal.unkept)-mostUnkept):]
}

// oomKilled is the runtime's reason of an exit.
const oomKilled = "OOMKilled"

// killedIn is the process that the kernel killed for its memory when an instance ended so.
func killedIn(end journal.End) *journal.Killed {
	if end.Exit.Reason != oomKilled {
		return nil
	}
	for _, e := range end.Chain {
		if e.ID != end.Entry {
			continue
		}
		if killed, found := kernellog.LastIn(e.Detail[journal.DetailContainerID]); found {
			return &journal.Killed{Process: killed.Process, PID: killed.PID}
		}
	}
	return nil
}

// noteNow writes and tells how the pod is after a step, how far its pulls are, and which hooks are held.
func (w *Worker) noteNow(at time.Time) {
	tell := w.executor.engine.Now
	if w.journal.writer == nil && tell == nil {
		return
	}
	now := journal.NowOf(at, w.machine)
	now.Pulls = w.results.pulls.list()
	w.results.held.addTo(now.Waits)
	if tell != nil {
		tell(w.machine.Pod(), now)
	}
	if w.journal.writer == nil {
		return
	}
	w.journalFailed(w.journal.writer.Now(now))
}

func (w *Worker) journalFailed(err error) {
	if err == nil {
		return
	}
	if wrote := w.executor.engine.JournalWrote; wrote != nil {
		wrote(0, 0, err)
	}
	w.journal.mu.Lock()
	defer w.journal.mu.Unlock()
	if now := time.Now(); now.Sub(w.journal.since) > logAgain {
		w.journal.since = now
		w.log.Warn("the pod's journal can't be written: lifepod why and lifepod timeline will not know everything", "err", err)
	}
}

// KeepJournal removes what is too old or too large of pods that are gone, until ctx ends.
func (n *Engine) KeepJournal(ctx context.Context) {
	if n.Folders.Journal == nil {
		return
	}
	n.Folders.Journal.Keep(ctx, journal.Usual, func(err error) { n.Log.Warn("the journal of pods that are gone stays", "err", err) })
}
