package timelinetest

import (
	"embed"
	"encoding/json"
	"time"

	"github.com/lifepod/lifepod/journal"
)

// Begin is when the journals of all records but groups' begin.
var Begin = time.Date(2026, 3, 4, 12, 4, 1, 0, time.UTC)

// At is so long after Begin.
func At(offset time.Duration) time.Time { return Begin.Add(offset) }

// records has a line with the pod of each, and one for each entry.
//
//go:embed records
var records embed.FS

func read(name string) *journal.Record {
	file, err := records.Open("records/" + name + ".jsonl")
	if err != nil {
		panic(err)
	}
	lines, r := json.NewDecoder(file), &journal.Record{Living: true}
	for err = lines.Decode(&r.Pod); err == nil && lines.More(); {
		var e journal.Entry
		err = lines.Decode(&e)
		r.Entries = append(r.Entries, e)
	}
	if err != nil {
		panic(err)
	}
	return r
}

// Web is a pod that waited for its image, became Ready by its probes, and was deleted later.
func Web() *journal.Record {
	r := read("web")
	r.Living = false
	return r
}

// Crashing is a pod whose container has crashed twice and was killed once because its liveness probe
// failed; it waits for its back-off.
func Crashing() (record *journal.Record, now time.Time) {
	return read("crashing"), At(20 * time.Second)
}

// Unpullable is a pod that has never begun to run: its image can't be pulled.
func Unpullable() (record *journal.Record, now time.Time) {
	return read("unpullable"), At(40 * time.Second)
}

// Resumed is a pod whose lifepod was killed while it made the sandbox; another one went on with it.
func Resumed() (record *journal.Record, now time.Time) { return read("resumed"), At(3 * time.Hour) }

// Worker is one of several: it is Ready after so long, most of which was the image pull.
func Worker(name string, pull time.Duration) *journal.Record {
	const begins, took = 250 * time.Millisecond, time.Millisecond
	r := read("worker")
	r.Pod.Name, r.Pod.UID = name, r.Pod.UID[:len(r.Pod.UID)-len(r.Pod.Name)]+name
	for i := range r.Entries {
		if e := &r.Entries[i]; e.At.After(At(begins)) {
			e.At = e.At.Add(pull - took)
		}
	}
	return r
}

// Malicious is a pod of which every text is what a terminal, a browser or a reader must not obey.
func Malicious() (record *journal.Record, now time.Time) { return read("malicious"), At(time.Second) }
