package run

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Pods of killed lifepods are named; those of living ones and what can't be read are not.
func TestLeft(t *testing.T) {
	root := t.TempDir()
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(recordsDir(root), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"1.json": fmt.Sprintf(`{"namespace": "default", "name": "dead", "pid": %d}`, ended.Process.Pid),
		"2.json": fmt.Sprintf(`{"namespace": "default", "name": "alive", "pid": %d}`, os.Getpid()),
		"3.json": `{`,
	} {
		if err := os.WriteFile(filepath.Join(recordsDir(root), name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"default/dead"}, Left(root)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}
