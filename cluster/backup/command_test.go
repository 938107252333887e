package backup

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestNothingToBackUp: without a cluster that runs the command says so, and waits for
// nothing.
func TestNothingToBackUp(t *testing.T) {
	dir := t.TempDir()
	root := &cobra.Command{Use: "lifepod", SilenceErrors: true, SilenceUsage: true}
	root.PersistentFlags().String("root", dir, "")
	root.AddCommand(NewCommand(func(string) (string, string, error) { return dir + "/cluster", dir + "/run", nil }, "v0"))
	root.SetArgs([]string{"backup", dir + "/file"})
	if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "no cluster runs in "+dir) {
		t.Errorf("backup without a cluster: %v", err)
	}
}
