package run

import "slices"

type Verb string

// What keys ask for, beside another look.
const (
	Nothing   Verb = ""
	Restart   Verb = "restart"   // Container
	Stop      Verb = "stop"      // the pod, gracefully
	Interrupt Verb = "interrupt" // as Ctrl-C does without a view
	Kill      Verb = "kill"      // the pod, at once
	Suspend   Verb = "suspend"   // lifepod, as a shell's job
)

// Action is what to do because of a key.
type Action struct {
	Do        Verb
	Container string
}

// Press takes a key, in the words of package bubbletea, and returns what to do.
func (v *View) Press(key string) Action {
	asked := v.user.asks
	v.user.asks, v.user.notice = Action{}, ""
	switch key {
	case "ctrl+c":
		return Action{Do: Interrupt}
	case `ctrl+\`:
		return Action{Do: Kill}
	case "ctrl+z":
		return Action{Do: Suspend}
	}
	if asked.Do != Nothing {
		if key == "q" || key == "y" {
			return asked
		}
		return Action{}
	}
	switch key {
	case "q":
		return v.quit()
	case "s":
		return v.stop()
	case "r":
		return v.restart()
	}
	v.look(key)
	return Action{}
}

// quit leaves a panel, or asks whether to end the pod: it is lifepod's, and does not outlive it.
func (v *View) quit() Action {
	switch {
	case v.user.panel != overview:
		v.user.open(overview)
	case v.ending():
		v.user.asks = Action{Do: Kill}
	default:
		v.user.asks = Action{Do: Stop}
	}
	return Action{}
}

func (v *View) stop() Action {
	if v.ending() {
		v.user.notice = v.language.Word("the pod is ending already; Ctrl-C kills it")
		return Action{}
	}
	v.user.notice = v.language.Word("stopping the pod gracefully")
	return Action{Do: Stop}
}

func (v *View) restart() Action {
	switch kind := v.pod.KindOf(v.user.selected); {
	case v.ending():
		v.user.notice = v.language.Word("the pod is ending: nothing is restarted any more")
	case kind != "container" && kind != "sidecar":
		v.user.notice = v.language.Word("only containers and sidecars can be restarted by themselves")
	default:
		v.user.notice = v.language.Say("restarting %s", harmless(v.user.selected))
		return Action{Do: Restart, Container: v.user.selected}
	}
	return Action{}
}

// look changes what the user looks at.
func (v *View) look(key string) {
	switch key {
	case "l", "enter":
		v.user.toggle(logPanel)
	case "w":
		v.user.toggle(whyPanel)
	case "?", "h":
		v.user.toggle(helpPanel)
	case "esc":
		v.user.open(overview)
	case "left", "shift+tab":
		v.choose(-1)
	case "right", "tab":
		v.choose(1)
	default:
		v.move(key)
	}
}

func (u *user) toggle(p panel) {
	if u.panel == p {
		p = overview
	}
	u.open(p)
}

func (u *user) open(p panel) { u.panel, u.scrolled = p, 0 }

// choose selects another container.
func (v *View) choose(by int) {
	if names := v.names(); len(names) > 0 {
		i := max(slices.Index(names, v.user.selected), 0)
		v.user.selected, v.user.scrolled = names[(i+by+len(names))%len(names)], 0
	}
}

// move selects another container, or scrolls in a panel.
func (v *View) move(key string) {
	down := map[string]int{
		"up": -1, "k": -1, "down": 1, "j": 1, "pgup": -v.page(), "pgdown": v.page(), "space": v.page(), "b": -v.page(),
		"home": -mostRows, "g": -mostRows, "end": mostRows, "G": mostRows,
	}[key]
	switch {
	case down == 0:
	case v.user.panel == logPanel:
		v.user.scrolled = max(v.user.scrolled-down, 0)
	case v.user.panel != overview:
		v.user.scrolled = max(v.user.scrolled+down, 0)
	default:
		v.choose(max(min(down, 1), -1))
	}
}

// mostRows is more than any panel has.
const mostRows = 1 << 30

// page is how many rows a panel shows.
func (v *View) page() int { return max(v.height-3, 1) }
