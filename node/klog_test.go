package node

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/klog/v2"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestLibrariesAreQuiet: what they call an error is a detail, too.
func TestLibrariesAreQuiet(t *testing.T) {
	t.Cleanup(klog.ClearLogger)
	for level, want := range map[slog.Level]int{slog.LevelInfo: 0, slog.LevelDebug: 2} {
		var out strings.Builder
		QuietKlog(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})))
		klog.ErrorS(errors.New("broken pipe"), "Error proxying data")
		klog.InfoS("listening")
		assert.True(t, strings.Count(out.String(), "level=DEBUG") == want && strings.Count(out.String(), "\n") == want,
			"at level %v: %q, want %d lines, all of them details", level, out.String(), want)
	}
}
