package backup

import (
	"testing"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestNothingToBackUp: without a cluster that runs the command says so, and waits for
// nothing.
func TestNothingToBackUp(t *testing.T) {
	dir := t.TempDir()
	root := &cobra.Command{Use: "lifepod", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().String("root", dir, "")
	root.AddCommand(NewCommand(func(string) (string, string, error) { return dir + "/cluster", dir + "/run", nil }, "v0"))
	root.SetArgs([]string{"backup", dir + "/file"})
	assert.ErrorContains(t, "no cluster runs in "+dir, root.Execute(), "backup without a cluster")
}
