package e2e

import (
	"bufio"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestPortForward: a Service, and what makes pods, stand for one of their pods that is Ready.
func TestPortForward(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(workload("apps/v1 Deployment", "web", "", "exec serve --port=8080 --on-term=0") +
		"\n---\napiVersion: v1\nkind: Service\nmetadata: {name: shop}\nspec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}\n")
	pod := s.running("app=web", "")
	for of, port := range map[string]string{"service/shop": ":80", "deployment/web": ":8080"} {
		forward := exec.CommandContext(t.Context(), up.Program, "port-forward", of, port, "-n", s.name, "--root", up.Root)
		out := assert.Get(forward.StdoutPipe()).Must(t)
		assert.Must(t, forward.Start())
		line := strings.Fields(assert.Get(bufio.NewReader(out).ReadString('\n')).Must(t))
		assert.Require(t, len(line) == 5 && line[4] == "8080", "%s: %q", of, line)
		answer := assert.Get(http.Get("http://" + line[2] + "/hostname")).Must(t)
		body := assert.Get(io.ReadAll(answer.Body)).Must(t)
		_ = answer.Body.Close()
		assert.Equal(t, pod.Name+"\n", string(body), "%s", of)
		_ = forward.Process.Kill()
		_ = forward.Wait() // it was killed
	}
	a := lifepod(t, up.Root, "port-forward", "deployment/shop", ":80", "-n", s.name)
	assert.True(t, a.code == 125 && strings.HasPrefix(a.complaint, `lifepod: no deployment "shop" in the cluster or in a lifepod run`), "%+v", a)
}
