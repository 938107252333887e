package e2e

import (
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

const shareW = "volumeMounts: [{name: w, mountPath: /w}]"

// TestExitCode: the command's exit code is that of the container that failed
// first, or 0.
func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, spec string
		code       int
	}{
		{"first-failure", "restartPolicy: Never\nvolumes: [{name: w, emptyDir: {}}]\ncontainers:\n" +
			shell("late", "until cat /w/early 2>/dev/null; do sleep 0.05; done; sleep 1.5; exit 4", shareW) +
			shell("early", "echo > /w/early; exit 3", shareW) + shell("fine", "true"), 3},
		{"high", "restartPolicy: Never\ncontainers:\n" + shell("main", "exit 255"), 255},
		{"own-signal", "restartPolicy: Never\ncontainers:\n" + shell("main", "sleep 0.1 & wait; kill -9 1; kill -TERM 1; sleep 5"), 143},
		{"no-such-program", "restartPolicy: Never\ncontainers:\n- {name: main, image: TOOLBOX, command: [/no/such]}", 128},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod(tc.name, tc.spec))
			assert.True(t, got.code == tc.code, "exit code %d, want %d\n%s", got.code, tc.code, got.stderr)
		})
	}
}
