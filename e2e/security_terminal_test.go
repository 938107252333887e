package e2e

import (
	"regexp"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestTerminal: a container with tty has a terminal, also without anybody at it
// (A-CRI-12).
func TestTerminal(t *testing.T) {
	t.Parallel()
	for name, fields := range map[string]string{"tty": "tty: true\nstdin: true", "plain": "tty: false"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("terminal-"+name, "restartPolicy: Never\ncontainers:\n"+
				shell("main", "if readlink /proc/self/fd/2 | grep -q '^/dev/pts/'; then echo terminal; else echo none; fi; echo end", fields)))
			want := map[string]string{"tty": "terminal\nend\n", "plain": "none\nend\n"}[name]
			got.want(t, 0, want) // A-CRI-12
		})
	}
}

// TestStdin: a container with stdin has one that somebody may still write to,
// another one has an empty one (A-CRI-12).
func TestStdin(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ fields, want string }{
		"open": {"stdin: true\nstdinOnce: true", "^pipe:"}, "none": {"stdin: false", "^/dev/null$"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := shared.run(t, pod("stdin-"+name, "restartPolicy: Never\ncontainers:\n"+shell("main", "readlink /proc/self/fd/0 >/tmp/0; cat /tmp/0", tc.fields)))
			matched, err := regexp.MatchString("(?m)"+tc.want, got.stdout)
			assert.True(t, err == nil && got.code == 0 && matched, "A-CRI-12 exit code %d: %q, want %q\n%s", got.code, got.stdout, tc.want, got.stderr)
		})
	}
}
