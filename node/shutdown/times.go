package shutdown

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/internal/wholefile"
)

// times are those of the last shutdown. They are kept over it.
type times struct {
	Began time.Time `json:"startTime,omitzero"` // when pods began to be ended
	Ended time.Time `json:"endTime,omitzero"`   // when they had ended; zero: they have not
}

func loadTimes(file string) (t times, err error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return t, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil {
		return times{}, fmt.Errorf("read the times of the last shutdown: %w", err)
	}
	return t, nil
}

func (t times) save(file string) error {
	data, err := json.Marshal(t)
	if err == nil {
		err = rootfolder.Ensure(filepath.Dir(file), 0o700)
	}
	if err == nil {
		err = wholefile.Write(file, data)
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
