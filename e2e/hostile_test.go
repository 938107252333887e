package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/lifepod/lifepod/e2e/terminal"
	"github.com/lifepod/lifepod/internal/assert"
)

// hostileText is what a container may print: it clears the screen, names the window, and turns
// what is read; for printf.
const hostileText = `\033[2J\033]0;owned\007\033[31mred\033[0m\342\200\256<script>alert(1)</script>`

// colour is what a terminal may obey of a container's output.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

func obeys(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// TestHostilePod: a pod whose output, messages and probes are full of what terminals obey is
// shown by every command, and obeyed by none; its output is as it is in a pipe.
func TestHostilePod(t *testing.T) {
	t.Parallel()
	manifest := strings.Replace(pod("hostile", "containers:\n"+
		shell("main", "printf '"+hostileText+"\\n'; printf '"+hostileText+"' > /dev/termination-log; [ -e /m/again ] || { touch /m/again; exit 3; }; "+waiter,
			"volumeMounts: [{name: m, mountPath: /m}]\nreadinessProbe: {exec: {command: [sh, -c, \"printf '"+strings.ReplaceAll(hostileText, `\`, `\\`)+"'; exit 1\"]}, periodSeconds: 1, timeoutSeconds: 30}")+
		"volumes: [{name: m, emptyDir: {}}]"), "  name: hostile\n", "  name: hostile\n  annotations: {note: \"\\e[2Jowned\\u202e\"}\n", 1)
	c := shared.startRun(t, manifest)
	c.await(c.stderr, `main started.*\n(.*\n)*.*main started`)
	c.await(c.stderr, "readiness")
	for _, args := range [][]string{
		{"ps"}, {"ps", "-o", "wide"}, {"ps", "-o", "yaml"}, {"ps", "-o", "json"}, {"status", "hostile"}, {"status", "hostile", "-o", "yaml"}, {"status", "hostile", "-o", "json"},
		{"why", "hostile"}, {"why", "hostile", "--rule"}, {"why", "hostile", "-o", "json"}, {"why"}, {"timeline", "hostile"}, {"timeline", "hostile", "-o", "json"},
		{"timeline", "hostile", "-o", "svg"}, {"timeline", "hostile", "-o", "html"}, {"image", "ls"},
	} {
		got := shared.lifepod(t, "", args...)
		assert.True(t, got.code == 0 && !obeys(got.stdout) && !obeys(got.stderr), "%q: exit code %d: %q, %q", args, got.code, got.stdout, got.stderr)
		format := args[len(args)-1]
		assert.True(t, format != "html" && format != "svg" || !strings.Contains(got.stdout, "<script>alert"), "%q has a script of somebody else", args)
	}
	assert.True(t, !obeys(c.stderr.text()), "run says %q", c.stderr.text())
	const raw = "\x1b[2J\x1b]0;owned\a\x1b[31mred\x1b[0m\u202e<script>alert(1)</script>\n"
	for _, args := range [][]string{{"logs", "hostile"}, {"logs", "hostile", "--all-containers"}, {"exec", "hostile", "--", "sh", "-c", "printf '" + hostileText + "\\n'"}} {
		got := shared.lifepod(t, "", args...)
		assert.True(t, got.code == 0 && strings.HasSuffix(got.stdout, raw), "%q into a pipe: exit code %d: %q", args, got.code, got.stdout)
		user := terminal.Start(t, exec.Command(binary, append([]string{"--root", shared.dir}, args...)...))
		code, text := user.End(), strings.ReplaceAll(user.Text(), "\r\n", "\n")
		assert.True(t, code == 0 && !obeys(colour.ReplaceAllString(text, "")) && strings.Contains(text, "^[[2J^[]0;owned^G\x1b[31mred\x1b[0m\\u202e<script>"),
			"%q on a terminal: exit code %d: %q", args, code, text)
	}
	c.signal(syscall.SIGINT)
	c.wait()
}

// TestHostileManifest: the name of a file and what is in it are told in an error, harmlessly.
func TestHostileManifest(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "evil\x1b[2J\u202e\n+9.999s pod Succeeded.yaml")
	assert.Must(t, os.WriteFile(file, []byte("kind: \"P\\e[2J\\u202e\"\nmetadata: {name: \"x\\e[2J\"}\n"), 0o600))
	for _, manifest := range []string{file, file + ".not", "-"} {
		got := shared.lifepod(t, pod("p", "containers: [{name: \"x\\e[2J\\u202e\", image: \"evil\\e[2J\\u202e\", \"f\\e[2J\\u202e\": 1}]"), "run", manifest)
		assert.True(t, got.code == 125 && !obeys(got.stderr) && !obeys(got.stdout), "run %q: exit code %d: %q", manifest, got.code, got.stderr)
	}
}
