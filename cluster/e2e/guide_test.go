package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lifepod/lifepod/internal/assert"
)

var rewrite = flag.Bool("rewrite", false, "write what the commands in docs/guide print into it")

// session is a block of commands of a cluster in the guide, each with what it prints.
var session = regexp.MustCompile("(?s)```console\n(.*?)```\n")

// variable are times, addresses, parts of names, and counts of nodes and CPUs, which differ from run to run.
var variable = regexp.MustCompile(`\d+(\.\d+)? ?(ms|m|s)\b|(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d|\d+\.\d+\.\d+\.\d+|-[a-z0-9]{5,10}(-[a-z0-9]{5})?\b|` +
	`\d+/\d+ nodes|\d+ (Insufficient|Preemption|node)|(used|capacity): \d+|\s+`)

// TestGuide: the commands of the guide that need a cluster print what it shows.
func TestGuide(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"scheduled", "init"} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			file := "../../docs/guide/" + page + ".md"
			text := assert.Get(os.ReadFile(file)).Must(t)
			variables := ""
			now := session.ReplaceAllStringFunc(string(text), func(block string) string {
				var b strings.Builder
				for _, one := range strings.Split(session.FindStringSubmatch(block)[1], "$ ")[1:] {
					command, shown, _ := strings.Cut(one, "\n")
					printed := typed(t, variables, command)
					if strings.HasPrefix(command, "NODE=") {
						variables += command + "\n"
					}
					diff := cmp.Diff(variable.ReplaceAllString(shown, "~"), variable.ReplaceAllString(printed, "~"))
					assert.True(t, diff == "" || *rewrite, "%s: %s (-documentation +printed):\n%s", page, command, diff)
					fmt.Fprintf(&b, "$ %s\n%s", command, printed)
				}
				return "```console\n" + b.String() + "```\n"
			})
			if *rewrite {
				assert.Must(t, os.WriteFile(file, []byte(now), 0o600))
			}
		})
	}
}

// typed is what a command prints that somebody types in the repository's folder.
func typed(t *testing.T, variables, command string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "bash", "-c", fmt.Sprintf("lifepod() { %s --root %s \"$@\"; }\n%s%s", up.Program, up.Root, variables, command))
	c.Dir = "../.."
	out, _ := c.CombinedOutput() // the documentation shows failures, too
	return string(out)
}
