package unattended

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// Reason is the status reason by which an unattended pod is known.
const Reason = "Unattended"

// Commands whose pods may be unattended.
const (
	Run   = "lifepod run"
	Agent = "lifepod agent"
	Up    = "lifepod up"
	Join  = "lifepod join"
)

// Pod is an unattended pod.
type Pod struct {
	*v1.Pod         // as it was accepted; its status is that which was published last
	Command  string // that it is the pod of
	Root     string // state folder
	LogDir   string // with its containers' logs
	Endpoint string // of its runtime
	Runs     bool   // something of it runs, as far as it can be told without the runtime

	Journals []journal.Folder // have the ends of its logs
	Events   []v1.Event       // as far as they are remembered
	// Over says that nothing is left of the pod but what a journal has; Elsewhere, that only its cluster knows it.
	Over, Elsewhere bool
}

// New makes a pod of what was accepted, and of its checkpoint. A pod that has ended
// is not unattended: nothing of it needs anybody.
func New(accepted *v1.Pod, c lifecycle.Checkpoint, of Pod) Pod {
	pod := c.Object(accepted)
	pod.APIVersion, pod.Kind = "v1", "Pod"
	pod.Status.Phase = cmp.Or(pod.Status.Phase, v1.PodPending)
	of.Pod = pod
	if !of.Ended() {
		pod.Status.Reason, pod.Status.Message = Reason, of.Why(fmt.Sprintf)+": "+of.Advice(fmt.Sprintf)
	}
	return of
}

// Living says of sandboxes whether they live: of those of the root's own containerd by
// their shims, of those of another runtime that they do.
type Living struct {
	endpoint string
	live     map[string]bool
}

func LivingOf(root string) Living {
	paths, err := bundle.Locate(root, "")
	if err != nil {
		return Living{}
	}
	return Living{endpoint: "unix://" + paths.Socket(), live: paths.LiveSandboxes()}
}

// Has says whether a sandbox of a runtime lives.
func (l Living) Has(endpoint, sandbox string) bool {
	return endpoint != l.endpoint || l.live[sandbox]
}

// Ended says that the pod had come to its end before its lifepod did.
func (p Pod) Ended() bool {
	return lifecycle.Terminal(p.Status.Phase)
}

// Sort puts pods into the order of their names.
func Sort(pods []Pod) {
	slices.SortFunc(pods, func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.FullName(), b.FullName()), cmp.Compare(a.UID, b.UID))
	})
}

// FullName is namespace/name.
func (p Pod) FullName() string { return p.Namespace + "/" + p.Name }

// Why says why nobody attends to the pod, in some language.
func (p Pod) Why(say lifecycle.Say) string {
	switch {
	case p.Over:
		return say("its lifepod ended without it")
	case p.Command != Run:
		return say("its %s does not run", p.Command)
	case !p.Runs:
		return say("its lifepod run was killed, and nothing of it runs any more")
	}
	return say("its lifepod run was killed")
}

// Advice says what to do about it.
func (p Pod) Advice(say lifecycle.Say) string {
	switch p.Command {
	case "":
		return say("what is left of it is in the journal, and `%s` removes that", bundle.Command(p.Root, "rm "+p.FullName()))
	case Run:
		return say("run the same manifests again to resume it, or `%s` to end it", p.stop())
	case Agent:
		return say("start lifepod agent again to resume it, or `%s` to end all pods of this state folder", bundle.Command(p.Root, "down"))
	}
	return say("start %s again to resume it, or `%s` to end it", p.Command, bundle.Command(p.Root, "down"))
}

func (p Pod) stop() string { return bundle.Command(p.Root, "stop "+p.FullName()) }

// Notice says of one pod why it can't be asked, and what to do.
func (p Pod) Notice(say lifecycle.Say) string {
	if p.Elsewhere {
		where := say("it has no node yet")
		if p.Spec.NodeName != "" {
			where = say("it is on node %s", p.Spec.NodeName)
		}
		return say("pod %s is not on this machine: %s; `%s` reaches it", p.FullName(), where, bundle.Command(p.Root, "kubectl"))
	}
	if p.Over && p.Status.Reason != Reason {
		return say("pod %s has ended: %s, status, why and timeline tell what the journal has of it", p.FullName(), bundle.Command(p.Root, "logs"))
	}
	return say("pod %s is unattended: %s: %s", p.FullName(), p.Why(say), p.Advice(say))
}

// Notices are the lines about pods, in English: one for each command whose pods they are.
func Notices(pods []Pod) (lines []string) {
	for _, command := range []string{Run, Agent, Up, Join} {
		of := slices.DeleteFunc(slices.Clone(pods), func(p Pod) bool { return p.Command != command })
		if len(of) > 0 {
			lines = append(lines, Notice(of, fmt.Sprintf))
		}
	}
	return lines
}

// Notice is the one line about pods of the same command; empty if there are none.
func Notice(pods []Pod, say lifecycle.Say) string {
	switch len(pods) {
	case 0:
		return ""
	case 1:
		return pods[0].Notice(say)
	}
	var names []string
	for _, p := range pods[:min(len(pods), maxNamed)] {
		names = append(names, p.FullName())
	}
	if more := len(pods) - len(names); more > 0 {
		names = append(names, say("%d more", more))
	}
	if p := pods[0]; p.Command != Run {
		return say("%d pods are unattended, because their %s does not run (%s): start it again to resume them, or `%s` to end all pods of this state folder",
			len(pods), p.Command, strings.Join(names, ", "), bundle.Command(p.Root, "down"))
	}
	return say("%d pods are unattended, because their lifepod run was killed (%s): run the same manifests again to resume one, or `%s` to end it",
		len(pods), strings.Join(names, ", "), bundle.Command(pods[0].Root, "stop POD"))
}

// maxNamed is how many pods a line names.
const maxNamed = 5
