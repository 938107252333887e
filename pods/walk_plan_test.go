package pods

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/lifepod/lifepod/cri/crifake"
)

// plan is all that a walk draws: what the pods are, what is asked of them, and what goes wrong.
type plan struct {
	Seed   uint64 // of the order; 0: first come, first served
	Pods   []planned
	Asks   []ask
	Faults []string // of the runtime (crifake.Fault)
	Harms  []harm
	// Devices are how many the node has, and Drivers what goes wrong with calls of drivers.
	Devices int
	Drivers []driverFault
}

type planned struct {
	Static    bool
	Policy    v1.RestartPolicy
	Main      string // a key of programs
	Side      string // of a second container; empty: there is none
	Init      string // of an init container; empty: there is none
	Sidecar   bool   // that runs beside the others
	Ready     bool   // main has a readiness probe
	Hook      string // what main's preStop hook does (crifake.Command); empty: there is none
	Grace     int64
	Misplaced bool // the Node has not the label that it selects
	Claims    bool // a driver has to prepare one
	Volume    bool // a driver has to publish one
	Device    bool // main asks for one
	Creation  time.Duration
}

// ask is what somebody wants of a pod.
type ask struct {
	At   time.Duration
	What string
	Pod  int
	N    int
}

// harm is what goes wrong besides the runtime's calls and events.
type harm struct {
	At   time.Duration
	What string
	Pod  int
	N    int
}

// programs are what containers do, in the words of crifake.
var programs = map[string][]string{
	"run":     {"run"},
	"slow":    {"run term=2s"},
	"stays":   {"run term=ignore"},
	"works":   {"exit=0 after=4s"},
	"at once": {"exit=0"},
	"again":   {"exit=1 after=3s", "exit=2 after=1ms", "exit=0 after=2s"},
	"settles": {"exit=1 after=3s", "run"},
}

func drawPlan(t *rapid.T) plan {
	of := func(name string, list ...string) string { return rapid.SampledFrom(list).Draw(t, name) }
	upTo := func(name string, most int) int { return rapid.IntRange(0, most).Draw(t, name) }
	milliseconds := func(name string, most int) time.Duration { return time.Duration(upTo(name, most)) * time.Millisecond }
	p := plan{Seed: uint64(upTo("order", 1<<20)), Devices: 1 + upTo("more devices", 2)}
	for range 1 + upTo("more pods", 2) {
		pod := planned{
			Policy: v1.RestartPolicy(of("policy", "Always", "OnFailure", "Never")), Grace: int64(upTo("grace", 20)), Misplaced: upTo("misplaced", 5) == 5,
			Creation: milliseconds("creation", 3000), Static: upTo("static", 4) == 4, Ready: upTo("probe", 2) == 2,
			Hook: of("hook", "", "", "out=ok", "after=2s", "hang"),
			Side: of("side", "", "", "run", "works", "stays"), Init: of("init", "", "", "at once", "works", "again"),
		}
		pod.Sidecar = pod.Init != "" && upTo("sidecar", 2) == 2
		if pod.Policy == v1.RestartPolicyAlways {
			pod.Main = of("main", "run", "slow", "stays", "settles")
			pod.Side = strings.ReplaceAll(pod.Side, "works", "settles")
		} else {
			pod.Main, pod.Side = of("main", "works", "again", "run"), strings.ReplaceAll(pod.Side, "stays", "again")
		}
		if pod.Sidecar {
			pod.Init = of("sidecar's", "run", "slow", "settles")
		}
		if !pod.Static {
			pod.Claims, pod.Volume, pod.Device = upTo("claims", 3) == 3, upTo("volume", 3) == 3, upTo("device", 2) == 2
		}
		p.Pods = append(p.Pods, pod)
	}
	for range upTo("asks", 5) {
		p.Asks = append(p.Asks, ask{
			At: milliseconds("at", 40000), Pod: upTo("of", len(p.Pods)-1), N: upTo("n", 30),
			What: of("ask", "delete", "delete", "force", "label", "image", "file"),
		})
	}
	for range upTo("faults", 6) {
		p.Faults = append(p.Faults, drawFault(t))
	}
	for range upTo("faults of drivers", 3) {
		f := driverFault{Verb: of("verb", "fail", "carry-out-then-fail", "slow"), Call: of("call", "Prepare", "Unprepare", "Publish", "Unpublish", "Allocate")}
		if f.Call == "Allocate" { // a refusal is the pod's end
			f.Verb = "slow"
		}
		f.Times, f.By = 1+upTo("more times", 2), milliseconds("by", 200000)
		p.Drivers = append(p.Drivers, f)
	}
	for range upTo("harms", 6) {
		p.Harms = append(p.Harms, harm{
			At: milliseconds("at", 45000), Pod: upTo("of", len(p.Pods)-1), N: upTo("n", 12000),
			What: of("harm", "kill", "kill", "kill twice", "forget", "reboot", "cut", "heal", "travel", "away", "break", "exit", "stall", "panic", "drivers away", "pressure"),
		})
	}
	return p
}

func drawFault(t *rapid.T) string {
	of := func(name string, list ...string) string { return rapid.SampledFrom(list).Draw(t, name) }
	var words []string
	if rapid.IntRange(0, 2).Draw(t, "fault of a call") > 0 {
		words = []string{
			of("verb", "fail", "hang", "carry-out-then-fail", "carry-out-then-hang", "slow"),
			of("call", "RunPodSandbox", "PodSandboxStatus", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer", "StopPodSandbox",
				"RemovePodSandbox", "ListPodSandbox", "ListContainers", "ContainerStatus", "ImageStatus", "ExecSync"),
		}
		if code := of("code", "", "code=Unavailable", "code=DeadlineExceeded"); code != "" {
			words = append(words, code)
		}
		if words[1] == "RunPodSandbox" || words[1] == "CreateContainer" {
			words[0] = of("verb of a creation", words[0], "carry-out-late")
		}
	} else {
		words = []string{of("verb", "lose", "double", "delay"), of("event", "CREATED", "STARTED", "STOPPED", "DELETED")}
	}
	return strings.Join(append(words, fmt.Sprintf("times=%d by=%dms", rapid.IntRange(1, 3).Draw(t, "times"), rapid.IntRange(0, 60000).Draw(t, "by"))), " ")
}

// withoutFaults is the same without what goes wrong.
func (p plan) withoutFaults() plan {
	return plan{Pods: p.Pods, Asks: p.Asks, Devices: p.Devices}
}

// scarce says that there are not enough devices: who comes first gets one.
func (p plan) scarce() bool {
	ask := 0
	for _, pod := range p.Pods {
		if pod.Device {
			ask++
		}
	}
	return ask > p.Devices
}

func (p planned) name(i int) string { return fmt.Sprintf("p%d", i) }

// plays says what the containers of all pods do.
func (p plan) plays(r *crifake.Runtime) {
	for i, pod := range p.Pods {
		for container, program := range map[string]string{"main": pod.Main, "side": pod.Side, "init": pod.Init} {
			if program != "" {
				r.Program(pod.name(i)+"/"+container, programs[program]...)
			}
		}
		if pod.Hook != "" {
			r.Command(pod.name(i)+"/main", pod.Hook)
		}
	}
}

// pod is one as the API server, or the folder, has it first.
func (p planned) pod(i int) *v1.Pod {
	pod := podOf(p.name(i))
	if p.Static {
		pod = staticPod(p.name(i), "1")
	}
	if p.Misplaced {
		pod.Spec.NodeSelector = map[string]string{"disk": "none"}
	}
	container := func(name string) v1.Container {
		c := *pod.Spec.Containers[0].DeepCopy()
		c.Name, c.Resources = name, v1.ResourceRequirements{}
		return c
	}
	pod.Spec.NodeName = "n"
	pod.Spec.RestartPolicy, pod.Spec.TerminationGracePeriodSeconds = p.Policy, &p.Grace
	main := &pod.Spec.Containers[0]
	if p.Ready && p.Hook == "" {
		main.ReadinessProbe = &v1.Probe{
			ProbeHandler: v1.ProbeHandler{Exec: &v1.ExecAction{Command: []string{"ready"}}}, TimeoutSeconds: 1, PeriodSeconds: 10, SuccessThreshold: 1, FailureThreshold: 3,
		}
	}
	if p.Hook != "" {
		main.Lifecycle = &v1.Lifecycle{PreStop: &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: []string{"stop"}}}}
	}
	if p.Claims {
		claim := "claim"
		pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "card", ResourceClaimName: &claim}}
	}
	if p.Volume {
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{CSI: &v1.CSIVolumeSource{Driver: "example.org"}}}}
		main.VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
	if p.Device {
		main.Resources.Limits = v1.ResourceList{gpu: resource.MustParse("1")}
		main.Resources.Requests = main.Resources.Limits
	}
	if p.Side != "" {
		pod.Spec.Containers = append(pod.Spec.Containers, container("side"))
	}
	if p.Init != "" {
		c := container("init")
		if p.Sidecar {
			always := v1.ContainerRestartPolicyAlways
			c.RestartPolicy = &always
		}
		pod.Spec.InitContainers = []v1.Container{c}
	}
	return pod
}

// needs is what it has of drivers while anything of it runs.
func (p planned) needs(uid types.UID) (list []given) {
	for what, is := range map[string]bool{claims: p.Claims, published: p.Volume, device: p.Device} {
		if is {
			list = append(list, given{uid, what})
		}
	}
	return list
}

// nextVersion is the next static pod of the name.
func nextVersion(pod *v1.Pod, n int) *v1.Pod {
	next := pod.DeepCopy()
	next.UID = types.UID(fmt.Sprintf("%s-%d", pod.Name, n))
	return next
}
