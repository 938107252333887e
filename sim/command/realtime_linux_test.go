package command_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/sim/command/realtime"
)

// A speed at which nothing can live is refused before anything else is done.
func TestBadSpeed(t *testing.T) {
	for _, speed := range []string{"0", "-1", "NaN", "+Inf", "1001"} {
		command := realtime.NewNodes(func() (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil })
		command.SilenceErrors, command.SilenceUsage = true, true
		command.SetArgs([]string{"--kubeconfig", "/absent", "--speed=" + speed})
		want := "--speed " + speed + ": want a number above 0, at most 1000"
		err := command.Execute()
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), "--speed %s: %v, want %s", speed, err, want)
	}
}

// What a scenario says that pods of a node, or a runtime, have no part in is refused with its line.
func TestRefusalsNameTheLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "s.yaml")
	text := "apiVersion: lifepod.dev/v1alpha1\nkind: Scenario\nevents:\n- {at: 1s, sandboxExit: {}}\n- at: 1s\n  delete: {}\n"
	assert.Must(t, os.WriteFile(file, []byte(text), 0o600))
	nodes := realtime.NewNodes(func() (*slog.Logger, error) { return slog.New(slog.DiscardHandler), nil })
	nodes.SetArgs([]string{"--kubeconfig", "/absent", "--scenario", file})
	serve := realtime.NewServe()
	serve.SetArgs([]string{"--listen", "unix:///absent/s", "--scenario", file})
	for command, want := range map[*cobra.Command]string{
		nodes: "scenario: " + file + ":6: events[1].delete: a simulated node can't do that: delete the pod in the API",
		serve: "scenario: " + file + ":5: events[1]: a CRI runtime can't do that: ",
	} {
		command.SilenceErrors, command.SilenceUsage = true, true
		err := command.ExecuteContext(t.Context())
		assert.True(t, err != nil && strings.HasPrefix(err.Error(), want), "%s: %v, want %s", command.Name(), err, want)
	}
}
