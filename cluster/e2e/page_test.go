package e2e

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	core "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/ui/browser"
)

// TestPage: lifepod ui shows the cluster's objects through the API server, and pods of its node as it shows
// those of lifepod run; what belongs to the API server is not ended behind its back.
func TestPage(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	s.create(podOf("shown", podSpec("sleep 1000")))
	s.pod("shown", "run", func(p *core.Pod) bool { return p.Status.Phase == core.PodRunning })
	command := exec.CommandContext(t.Context(), up.Program, "ui", "--root", up.Root)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	out := assert.Get(command.StdoutPipe()).Must(t)
	assert.Must(t, command.Start())
	t.Cleanup(func() {
		_ = command.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = command.Wait()
	})
	link := assert.Get(bufio.NewReader(out).ReadString('\n')).Must(t)
	p := browser.Open(t, strings.TrimSpace(link))
	p.Size(1280, 800, false)
	for _, table := range []struct{ name, column, row string }{
		{"Nodes", "Roles", up.Name}, {"Services", "Cluster-IP", "kubernetes"}, {"Events", "Reason", s.name},
		{"Deployments", "", ""}, {"StatefulSets", "", ""}, {"DaemonSets", "", ""}, {"Jobs", "", ""}, {"Claims", "", ""},
	} {
		p.Click("nav a", table.name)
		p.AwaitText("h1", table.name)
		p.Await(`!document.querySelector("main").textContent.includes("Asking")`)
		if table.column != "" {
			p.AwaitText("thead th", table.column)
			p.AwaitText("tbody tr", table.row)
		}
		p.Accessible(table.name)
		p.Shot("cluster-" + table.name)
		p.Size(390, 844, true)
		p.Accessible(table.name + " on a phone")
		p.Shot("cluster-phone-" + table.name)
		p.Size(1280, 800, false)
	}
	p.Click("nav a", "Pods")
	p.Click(".pods .name", s.name+"/shown")
	p.AwaitText(".standing", "is Running and Ready")
	p.Click("button", "Stop …")
	p.Click("button", "Stop")
	p.AwaitText("#confirm-error", "the pod belongs to the API server: use kubectl")
}
