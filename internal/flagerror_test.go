package internal_test

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/internal/commandline"
)

// What a flag takes is said in plain words.
func TestFlagError(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{"--seed=-1", `--seed "-1": want a whole number from 0 to 18446744073709551615`},
		{"--seed=18446744073709551616", `--seed "18446744073709551616": want a whole number from 0 to 18446744073709551615`},
		{"--runs=x", `--runs "x": want a whole number`},
		{"--node-ip=here", `--node-ip "here": want an IP address`},
		{"--sede=1", "unknown flag --sede: did you mean --seed?"},
	} {
		c := &cobra.Command{Use: "sim", RunE: func(*cobra.Command, []string) error { return nil }, SilenceErrors: true, SilenceUsage: true}
		c.Flags().Uint64("seed", 1, "")
		c.Flags().Int("runs", 1, "")
		c.Flags().IP("node-ip", nil, "")
		c.SetFlagErrorFunc(commandline.FlagError)
		c.SetArgs([]string{test.arg})
		assert.Error(t, test.want, c.Execute(), test.arg)
	}
}
