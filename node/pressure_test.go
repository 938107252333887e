package node

import (
	"bytes"
	"io/fs"
	"log/slog"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/node/space"
)

// The event has the kubelet's words (B-OOM-2); without a cluster there is none.
func TestSystemOOM(t *testing.T) {
	var got []string
	o := systemOOMs{log: slog.New(slog.DiscardHandler)}
	o.tell(space.OOMVictim{Process: "hog", PID: 42})
	o.event = func(kind, reason, message string) { got = append(got, kind, reason, message) }
	o.tell(space.OOMVictim{Process: "hog", PID: 42})
	assert.Equal(t, "Warning|SystemOOM|System OOM encountered, victim process: hog, pid: 42", strings.Join(got, "|"), "B-OOM-2 event")
}

// A node that can't read the kernel's log says so and goes on.
func TestSystemOOMWithoutKernelLog(t *testing.T) {
	var log bytes.Buffer
	o := systemOOMs{log: slog.New(slog.NewTextHandler(&log, nil)), open: func() (*space.OOMLog, error) { return nil, fs.ErrPermission }}
	o.run(t.Context())
	assert.True(t, strings.Contains(log.String(), "no events SystemOOM") && strings.Contains(log.String(), "permission denied"), "log: %s", log.String())
}
