package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestSystemLogs: an administrator reads a log of the machine, and asks for that of a
// service by its name (A-NODE-1, A-NODE-2, A-NODE-5).
func TestSystemLogs(t *testing.T) {
	t.Parallel()
	file, err := os.CreateTemp("/var/log", "lp-e2e-*.log")
	assert.Must(t, err)
	t.Cleanup(func() { _ = os.Remove(file.Name()) })
	assert.Must(t, assert.ErrorOf(file.WriteString("of the machine")))
	assert.Must(t, file.Close())
	name := filepath.Base(file.Name())
	for _, at := range []string{name, "?query=/" + name, "?query=" + strings.TrimSuffix(name, ".log")} {
		got, err := plane.Kubectl(t.Context(), "", "get", "--raw", fmt.Sprintf("/api/v1/nodes/%s/proxy/logs/%s", shared.Name, at))
		assert.True(t, err == nil && got == "of the machine", "%s: %q, %v", at, got, err)
	}
	_, err = plane.Kubectl(t.Context(), "", "get", "--raw", fmt.Sprintf("/api/v1/nodes/%s/proxy/logs/?query=a&boot=1", shared.Name))
	assert.ErrorContains(t, "must be less than 1", err, "A-NODE-3 error =")
}
