package scenario

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
)

// Scenario is what happens to one pod. What it doesn't say goes the usual way: calls work and
// take as long as those of the bundled runtime, images are pulled in a second, init containers
// end well after 100 ms, sidecars run for ever, and so do the other containers of a pod that
// restarts them always; those of other pods end well after a second.
type Scenario struct {
	APIVersion string               `json:"apiVersion"`
	Kind       string               `json:"kind"`
	For        *Span                `json:"for,omitempty"`    // how long it is looked at
	Refuse     *Refusal             `json:"refuse,omitempty"` // the node does not take the pod
	Containers map[string]Container `json:"containers,omitempty"`
	Images     map[string]Image     `json:"images,omitempty"`
	Calls      []Call               `json:"calls,omitempty"`
	Events     []Event              `json:"events,omitempty"`
	Assert     []string             `json:"assert,omitempty"`
}

// Refusal is why the node does not admit the pod.
type Refusal struct {
	Reason  string `json:"reason"` // such as OutOfcpu
	Message string `json:"message,omitempty"`
}

// Container is what a container does.
type Container struct {
	// Runs has one for each instance; the last one is also that of all later ones.
	Runs []Run `json:"runs"`
}

// Run is what one instance of a container does.
type Run struct {
	Start      *Span    `json:"start,omitempty"`      // how long its start takes
	StartError string   `json:"startError,omitempty"` // why it can't be started
	Run        *Span    `json:"run,omitempty"`        // until its process ends by itself
	Exit       *int32   `json:"exit,omitempty"`
	Signal     string   `json:"signal,omitempty"` // that ends it, such as SIGSEGV
	OOM        bool     `json:"oom,omitempty"`    // the kernel ends it: too little memory
	Message    string   `json:"message,omitempty"`
	Ready      *Span    `json:"ready,omitempty"` // from when on its readiness probe succeeds
	Probes     *Probes  `json:"probes,omitempty"`
	Hooks      *Hooks   `json:"hooks,omitempty"`
	Stop       *Stop    `json:"stop,omitempty"`
	Output     []Output `json:"output,omitempty"`
	Usage      []Usage  `json:"usage,omitempty"`
}

// Usage is what an instance uses from a time on. What it doesn't say stays as it was; at first that is what the
// container requests.
type Usage struct {
	From   *Span              `json:"from,omitempty"` // since the instance was started
	CPU    *resource.Quantity `json:"cpu,omitempty"`
	Memory *resource.Quantity `json:"memory,omitempty"`
}

// Probes are the answers of an instance's probes over time.
type Probes struct {
	Startup   []Answer `json:"startup,omitempty"`
	Liveness  []Answer `json:"liveness,omitempty"`
	Readiness []Answer `json:"readiness,omitempty"`
}

// Answer is what a probe gets from a time on.
type Answer struct {
	From   *Span  `json:"from,omitempty"` // since the instance was started
	Answer string `json:"answer"`         // success, failure or error
	Output string `json:"output,omitempty"`
	Takes  *Span  `json:"takes,omitempty"`
}

// Hooks are those of an instance.
type Hooks struct {
	PostStart *Hook `json:"postStart,omitempty"`
	PreStop   *Hook `json:"preStop,omitempty"`
}

// Hook is one run of a hook.
type Hook struct {
	Takes *Span  `json:"takes,omitempty"`
	Fail  string `json:"fail,omitempty"`
}

// Stop is what an instance does when it gets its stop signal.
type Stop struct {
	After  *Span  `json:"after,omitempty"`
	Exit   *int32 `json:"exit,omitempty"`
	Ignore bool   `json:"ignore,omitempty"` // it goes on until it is killed
}

// Output is a line that an instance writes.
type Output struct {
	At     *Span  `json:"at,omitempty"` // since the instance was started
	Text   string `json:"text"`
	Stream string `json:"stream,omitempty"` // stdout or stderr
}

// Image is how an image can be had.
type Image struct {
	Present  *bool  `json:"present,omitempty"`
	Pull     *Span  `json:"pull,omitempty"` // how long a pull takes, also one that fails
	Bytes    *int64 `json:"bytes,omitempty"`
	Failures int    `json:"failures,omitempty"` // so many pulls fail
	Error    string `json:"error,omitempty"`    // what they fail with
}

// IsPresent says whether the image of that name is on the node from the beginning.
func (i *Image) IsPresent(name string) bool {
	return ptr.Deref(i.Present, strings.HasPrefix(name, Carried))
}

// PullError is what the nth try to pull the image of that name fails with; empty: it works.
func (i *Image) PullError(name string, try int) string {
	if try > i.Failures {
		return ""
	}
	return cmp.Or(i.Error, fmt.Sprintf("failed to resolve image: %s: not found", name))
}

// Call changes how calls of the runtime and other work go; the first that fits counts.
type Call struct {
	Call      string `json:"call"` // such as CreateContainer
	Container string `json:"container,omitempty"`
	From      *Span  `json:"from,omitempty"`
	Until     *Span  `json:"until,omitempty"`
	Times     int    `json:"times,omitempty"` // so many calls; 0: all
	Takes     *Span  `json:"takes,omitempty"`
	Fail      string `json:"fail,omitempty"` // it is refused, with these words
	Hang      bool   `json:"hang,omitempty"` // it has no answer, and does nothing
}

// Event is something that happens at a time; it has one of the others.
type Event struct {
	At           *Span    `json:"at"`
	Delete       *Delete  `json:"delete,omitempty"`
	Kill         *Kill    `json:"kill,omitempty"` // as --force
	Restart      *Restart `json:"restart,omitempty"`
	Evict        *Evict   `json:"evict,omitempty"`
	Reboot       *Down    `json:"reboot,omitempty"`
	RuntimeCrash *Down    `json:"runtimeCrash,omitempty"`
	AgentCrash   *Down    `json:"agentCrash,omitempty"`
	SetClock     *Change  `json:"setClock,omitempty"`
	LoseEvents   *Lose    `json:"loseEvents,omitempty"`
	DoubleEvents *Lose    `json:"doubleEvents,omitempty"` // they come twice
	DelayEvents  *Delay   `json:"delayEvents,omitempty"`  // they come late, and in another order
	SandboxExit  *Nothing `json:"sandboxExit,omitempty"`

	ObjectsChanged *Objects `json:"objectsChanged,omitempty"`
	AddContainer   *Added   `json:"addContainer,omitempty"`
	Resize         *Resize  `json:"resize,omitempty"`
}

// Resize asks for other CPU and memory for a container, or for the pod as a whole.
type Resize struct {
	Container string          `json:"container,omitempty"` // empty: the pod
	Requests  v1.ResourceList `json:"requests,omitempty"`  // what isn't given stays as it is
	Limits    v1.ResourceList `json:"limits,omitempty"`
	// Deferred is until when the node has no room for it; Infeasible is why it never has.
	Deferred   *Span  `json:"deferred,omitempty"`
	Infeasible string `json:"infeasible,omitempty"`
}

// Objects are ConfigMaps and Secrets that the pod uses.
type Objects struct {
	Because string `json:"because,omitempty"` // what has changed
}

// Added is an ephemeral container, as of lifepod debug.
type Added struct {
	Name   string `json:"name"`
	Image  string `json:"image"`
	Target string `json:"target,omitempty"`
}

// Container is it as a pod has it.
func (a *Added) Container() (c v1.EphemeralContainer) {
	c.Name, c.Image, c.ImagePullPolicy, c.TargetContainerName = a.Name, a.Image, v1.PullIfNotPresent, a.Target
	return c
}

// Nothing is needed to know more: {}.
type Nothing struct{}

// Delete asks for the pod's end.
type Delete struct {
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`
	Because      string `json:"because,omitempty"`
}

// Kill asks for the pod's end at once.
type Kill struct {
	Because string `json:"because,omitempty"`
}

// Restart asks for a restart of a container, or of all.
type Restart struct {
	Container string `json:"container,omitempty"`
	Graceful  bool   `json:"graceful,omitempty"`
	Because   string `json:"because,omitempty"`
}

// Evict ends the pod because the node needs what it uses.
type Evict struct {
	Reason       string `json:"reason,omitempty"`
	Message      string `json:"message,omitempty"`
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`
}

// Down is how long something is not there.
type Down struct {
	For *Span `json:"for,omitempty"`
}

// Change is by how much the wall clock is set forward, or back.
type Change struct {
	By Signed `json:"by"`
}

// Lose is for how long events of the runtime are lost, or come twice.
type Lose struct {
	For *Span `json:"for,omitempty"`
}

// Delay is for how long events of the runtime come late, and by how much each.
type Delay struct {
	For *Span `json:"for,omitempty"`
	By  *Span `json:"by,omitempty"`
}

// AddedNames are the ephemeral containers that the pod gets.
func (s *Scenario) AddedNames() (names []string) {
	for _, e := range s.Events {
		if e.AddContainer != nil {
			names = append(names, e.AddContainer.Name)
		}
	}
	return names
}

// Of is the run of a container's instance; the zero one if nothing is said of it.
func (s *Scenario) Of(container string, instance int) Run {
	runs := s.Containers[container].Runs
	if len(runs) == 0 {
		return Run{}
	}
	return runs[min(instance, len(runs)-1)]
}

// Image is what is said of an image, which may have its usual tag; false: nothing.
func (s *Scenario) Image(name string) (says Image, is bool) {
	if says, is = s.Images[name]; !is {
		says, is = s.Images[strings.TrimSuffix(name, ":latest")]
	}
	return says, is
}

// Schema is the JSON schema of scenarios.
//
//go:embed schema.json
var Schema string
