package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	"github.com/lifepod/lifepod/e2e/machine"
	"github.com/lifepod/lifepod/internal/assert"
)

// around is what is typed before a command of docs/compare.md, and after it, so that it shows what it is for.
var around = map[string][2]string{
	"lifepod why crash":                                  {"! lifepod run crash.yaml", ""},
	"sed -i s/hello/bye/ config-reload.yaml":             {"lifepod run -d config-reload.yaml", "lifepod wait config-reload --for=delete"},
	"lifepod exec front -- fetch http://db:8080/healthz": {"lifepod wait db --for=condition=Ready", ""},
	"lifepod agent --manifests /etc/lifepod/pods":        {"mkdir pods; sed 's/name: stays/name: static/' stays.yaml > pods/static.yaml; lifepod down", ""},
}

// endless are commands that end when somebody ends them.
var endless = regexp.MustCompile(`^lifepod (ps -w|port-forward|agent)\b`)

// TestCompare runs what docs/compare.md says of lifepod, line after line.
func TestCompare(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	dir := t.TempDir()
	assert.Must(t, os.CopyFS(dir, os.DirFS("testdata/compare")))
	reload, err := os.ReadFile("../examples/config-reload.yaml")
	assert.Must(t, err, os.WriteFile(filepath.Join(dir, "config-reload.yaml"), reload, 0o600))
	tag, err := name.NewTag("example.org/app:1")
	assert.Must(t, err, tarball.WriteToFile(filepath.Join(dir, "app.tar"), tag, carriedToolbox(t)))
	web := httptest.NewServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(web.Close)
	first := assert.Get(machine.FreePort()).Must(t)
	second := assert.Get(machine.FreePort()).Must(t)
	here := strings.NewReplacer("https://example.com", web.URL, "18080", strconv.Itoa(first), "18081", strconv.Itoa(second), "/etc/lifepod/pods", filepath.Join(dir, "pods"))

	text := assert.Get(os.ReadFile("../docs/compare.md")).Must(t)
	t.Cleanup(func() { r.lifepod(t, "", "down", "--purge") }) // if the last line was not reached
	rows, empty := 0, 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 5 || strings.HasPrefix(cells[1], "docker") || strings.HasPrefix(cells[1], "---") {
			continue
		}
		rows++
		command := strings.Trim(strings.TrimSpace(cells[4]), "`")
		if command == "–" {
			empty++
			continue
		}
		for i, one := range []string{around[command][0], command, around[command][1]} {
			if endless.MatchString(one) {
				r.interrupts(t, here.Replace(one))
			} else if out, err := r.types(t, dir, here.Replace(one)); err != nil {
				t.Errorf("%s: %s: %v\n%s", cells[0], one, err, out)
			} else if i == 1 && strings.HasPrefix(one, "lifepod why") && !strings.Contains(out, "no database") {
				t.Errorf("%s: %s", one, out)
			}
		}
	}
	assert.True(t, rows == 40 && empty <= 3, "%d rows, %d of them empty: want 40 and at most 3", rows, empty)
}

// interrupts runs a line until it does what it is for, then ends it.
func (r *root) interrupts(t *testing.T, line string) {
	t.Helper()
	args := strings.Fields(line)[1:]
	c := r.start(t, "", args...)
	switch args[0] {
	case "ps":
		c.await(c.stdout, `default +web `)
	case "port-forward":
		local := strings.Fields(c.await(c.stdout, `127\.0\.0\.1:\d+ -> 8080`))[0]
		answer := assert.Get(http.Get("http://" + local + "/healthz")).Must(t)
		assert.Must(t, answer.Body.Close())
		assert.Equal(t, http.StatusOK, answer.StatusCode, "%s", line)
	default: // the agent, of the pod in its folder
		watch := r.start(t, "", "ps", "-w")
		watch.await(watch.stdout, `default +static\S* .*Running`)
		watch.signal(syscall.SIGINT)
		watch.wait()
	}
	c.signal(syscall.SIGINT)
	c.wait()
}

// types runs a line in a shell in which lifepod is the one that is tested, with this root.
func (r *root) types(t *testing.T, dir, line string) (string, error) {
	t.Helper()
	if line == "" {
		return "", nil
	}
	path := assert.Get(filepath.Abs(binary)).Must(t)
	script := fmt.Sprintf("lifepod() { local verb=$1; shift; %s \"$verb\" --root %s \"$@\"; }\n%s", path, r.dir, line)
	if strings.Contains(line, " -it ") {
		script = fmt.Sprintf("echo exit | script -qec '%s %s --root %s' /dev/null", path, strings.TrimPrefix(line, "lifepod "), r.dir)
	}
	c := exec.CommandContext(t.Context(), "bash", "-c", script)
	c.Dir = dir
	out, err := c.CombinedOutput()
	return string(out), err
}
