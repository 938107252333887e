package realtime

import (
	"log/slog"
	"strings"
	"testing"
)

// A speed at which nothing can live is refused before anything else is done.
func TestBadSpeed(t *testing.T) {
	for _, speed := range []string{"0", "-1", "NaN", "+Inf", "1001"} {
		command := NewNodes(func() (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil })
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs([]string{"--kubeconfig", "/absent", "--speed=" + speed})
		want := "--speed " + speed + ": want a number above 0, at most 1000"
		if err := command.Execute(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("--speed %s: %v, want %s", speed, err, want)
		}
	}
}
