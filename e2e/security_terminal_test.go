package e2e

import "testing"

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
			if got.code != 0 || got.stdout != want {
				t.Errorf("A-CRI-12 exit code %d: %q, want %q\n%s", got.code, got.stdout, want, got.stderr)
			}
		})
	}
}

// TestStdin: standard input that nobody writes to stays open, as in
// Kubernetes; without stdin it is at its end at once (A-CRI-12).
func TestStdin(t *testing.T) {
	t.Parallel()
	got := shared.run(t, pod("stdin-none", "restartPolicy: Never\ncontainers:\n"+shell("main", "cat; echo at its end")))
	if got.code != 0 || got.stdout != "at its end\n" {
		t.Errorf("A-CRI-12 without stdin: exit code %d: %q\n%s", got.code, got.stdout, got.stderr)
	}
	c := shared.startRun(t, pod("stdin-open", "restartPolicy: Never\nterminationGracePeriodSeconds: 1\ncontainers:\n"+
		shell("main", "echo began; cat; echo at its end", "stdin: true\nstdinOnce: true")), "--timeout", "1s")
	if got := c.wait(); got.code != 124 || got.stdout != "began\n" {
		t.Errorf("A-CRI-12 with stdin: exit code %d: %q\n%s", got.code, got.stdout, got.stderr)
	}
}
