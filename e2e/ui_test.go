package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/ui/browser"
)

// uiPod has a container that is well and one that crashes, whose log is hostile.
const uiPod = `restartPolicy: Always
terminationGracePeriodSeconds: 2
containers:
- name: web
  image: TOOLBOX
  command: [sh, -c, 'i=0; while true; do i=$((i+1)); echo "request $i"; sleep 0.2; done']
- name: broken
  image: TOOLBOX
  command: [sh, -c, 'printf "\033[31mcolour\033[0m \033[2Jscreen <img src=x onerror=alert(1)>\n"; sleep 1; exit 3']`

// openUI starts lifepod ui and a browser that follows its link.
func (r *root) openUI(t *testing.T) *browser.Page {
	t.Helper()
	ui := r.start(t, "", "ui")
	link := ui.await(ui.stdout, `http://127\.0\.0\.1:\d+/\?token=\S+`)
	return browser.Open(t, link)
}

// TestPage uses the page of a real pod as people do: the list, why, the timeline as it grows, a log, a console,
// a restart and the end, each of them asked for twice.
func TestPage(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	run := r.startRun(t, pod("shop", uiPod))
	run.await(run.stderr, `broken exited 3.*restart in \d+s`)
	p := r.openUI(t)
	p.Size(1280, 800, false)

	p.AwaitText(".pods .name", "default/shop")
	p.AwaitText(".why li", "broken waits for its next restart: back-off, next try")
	p.Await(`!location.href.includes("token")`)
	p.Do(chromedp.Click(".pods .name"))
	p.AwaitText("h1", "shop")
	p.AwaitText(".why li", "exit 3")
	looks(p, "list", "pod")

	const broken = `document.querySelectorAll('.plot [aria-label^="broken"]').length`
	var before int
	p.Do(chromedp.Evaluate(broken, &before))
	p.Await(fmt.Sprintf("%s > %d", broken, before)) // without a reload

	p.Do(chromedp.Click(`.tabs a[href$="/log"]`))
	p.AwaitText(".screen div", "request 1")
	p.Do(chromedp.SetValue("#log-container", "broken"), chromedp.Evaluate(`document.getElementById("log-container").dispatchEvent(new Event("change"))`, nil))
	p.AwaitText(".screen .ink-red", "colour")
	p.AwaitText(".screen div", "^[[2Jscreen <img src=x onerror=alert(1)>")
	p.Await(`document.querySelector(".screen img") === null`)
	p.Shot("log")

	p.Do(chromedp.Click(`.tabs a[href$="/console"]`), chromedp.Click(`#main .buttons [type=submit]`))
	p.Await(`document.activeElement.id === "console-line"`)
	p.Press("echo $((6*7)) in $(hostname)\r")
	p.AwaitText(".screen div", "42 in shop")
	p.Press("no-such-command\r") // by itself: the shell writes a line in parts, and what errors say may come between
	p.AwaitText(".screen .stderr", "not found")
	p.Shot("console")
	p.Accessible("console")
	p.Press("exit 4\r")
	p.AwaitText("main", "The command ended with exit code 4.")

	p.Do(chromedp.SetValue("#restart", "web"), chromedp.Click("[data-do=restart]"), chromedp.WaitVisible("#confirm"))
	assert.Deep(t, "it asks", "Restart web of shop?", p.Text("#confirm-title"))
	p.Shot("confirm")
	p.Accessible("dialog")
	p.Press(kb.Escape)
	p.Await(`!document.getElementById("confirm").open`)
	assert.True(t, !strings.Contains(run.stderr.text(), "a restart was asked for"), "web was restarted without consent")
	p.Do(chromedp.Click("[data-do=restart]"), chromedp.WaitVisible("#confirm"), chromedp.Click("[data-do=confirmed]"))
	run.await(run.stderr, `web .*1st restart`)
	run.await(run.stdout, `request 1$(?s:.*)request 1$`) // of the instance whose log the page shows in the end

	p.Do(chromedp.Click("[data-do=stop]"), chromedp.WaitVisible("#confirm"), chromedp.Click("[data-do=confirmed]"))
	run.wait()
	p.AwaitText(".warning", "pod default/shop has ended")
	p.Do(chromedp.Click(`.tabs a[href$="/log"]`))
	p.AwaitText(".screen div", "request 1")
	p.Do(chromedp.Click(".brand"))
	p.AwaitText(".gone .name", "default/shop")
	p.Accessible("gone")
}

// looks asks axe-core of both views in light and dark, at desktop and phone width, and keeps pictures.
func looks(p *browser.Page, list, pod string) {
	for _, dark := range []bool{false, true} {
		for _, width := range []int64{1280, 390} {
			name := map[int64]string{1280: "desktop", 390: "phone"}[width] + map[bool]string{false: "-light", true: "-dark"}[dark]
			p.Size(width, map[int64]int64{1280: 800, 390: 844}[width], dark)
			p.Accessible(pod + " " + name)
			p.Shot(pod + "-" + name)
			p.Do(chromedp.Evaluate("history.back()", nil))
			p.AwaitText("h1", "Pods")
			p.Accessible(list + " " + name)
			p.Shot(list + "-" + name)
			p.Do(chromedp.Evaluate("history.forward()", nil))
			p.AwaitText(".why h2", "Why")
		}
	}
	p.Size(1280, 800, false)
}

// TestPageByKeyboard restarts a container with the keys alone, on the page of run --ui.
func TestPageByKeyboard(t *testing.T) {
	t.Parallel()
	r := newRoot(t)
	run := r.startRun(t, pod("keys", "terminationGracePeriodSeconds: 1\ncontainers:\n"+shell("main", "sleep infinity")), "--ui")
	run.await(run.stderr, "pod Ready")
	link := run.await(run.stderr, `http://127\.0\.0\.1:\d+/\?token=\S+`)
	p := browser.Open(t, link)
	p.AwaitText(".pods .name", "default/keys")
	p.TabTo(".pods .name")
	p.Press("\r")
	p.AwaitText("h1", "keys")
	p.Await(`document.activeElement.tagName === "H1"`)
	p.TabTo("[data-do=restart]")
	p.Press("\r")
	p.Await(`document.activeElement.textContent === "Cancel"`)
	p.TabTo("[data-do=confirmed]")
	p.Press("\r")
	run.await(run.stderr, `main .*1st restart`)
	p.Await(`document.activeElement.matches("[data-do=restart]")`)
	p.TabTo(".plot .bar")
	p.Await(`!document.getElementById("hint").hidden`)
	run.signal(syscall.SIGQUIT)
	run.wait()
}
