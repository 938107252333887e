package lifecycle

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"
)

// comesToRest lets everything work from now on, lets processes end with 0 if that ends
// them, and checks that the pod then either ends or runs.
func (w *walk) comesToRest() {
	w.faultRate, w.crowded, w.unhealthy = 0, false, 0
	for range 3000 {
		if w.m.Stage() == Gone {
			return
		}
		if w.m.Resting() {
			w.rests()
			return
		}
		if w.quiet() && w.allRun() && w.m.resize.Desired == nil && w.m.resize.Progress == nil {
			w.laws.resized(w)
			return
		}
		w.workOn()
	}
	w.rt.Fatalf("the pod neither ends nor runs: stage %v, %d calls, status %+v", w.m.Stage(), len(w.calls), w.m.Status())
}

// stops asks for the pod's end, which must then come, and leave nothing behind.
func (w *walk) stops() {
	asked := w.now
	if w.m.Stage() != Gone {
		w.feed(StopRequested{})
	}
	for range 3000 {
		if w.m.Stage() == Gone {
			w.laws.soonGone(w, asked)
			w.laws.gone(w)
			return
		}
		w.workOn()
	}
	w.rt.Fatalf("a stopped pod never gets to Gone: stage %v, status %+v", w.m.Stage(), w.m.Status())
}

func (w *walk) quiet() bool { return len(w.calls)+len(w.events)+len(w.late) == 0 }

// allRun says that every regular container is ready or has ended for good.
func (w *walk) allRun() bool {
	for _, c := range w.m.regulars() {
		if !c.ready() && !c.final() {
			return false
		}
	}
	return true
}

// workOn is one step of a world in which everything works.
func (w *walk) workOn() {
	switch {
	case len(w.late) > 0:
		w.performLate(0)
	case len(w.calls) > 0:
		w.goOn()
	case len(w.events) > 0:
		w.deliver(0, false)
	case w.groupGoesOn():
	case w.endOne():
	default:
		w.pause()
	}
}

// endOne ends a process whose end the pod waits for to end itself.
func (w *walk) endOne() bool {
	for _, r := range w.running() {
		c := w.m.containerNamed(r.Name)
		if c.kind == initContainer || (c.kind == regularContainer && !restartsOn(w.pod, c.spec, 0)) {
			w.end(r, 0, "Completed")
			return true
		}
	}
	return false
}

// restartsOn is A-RST-1 once more, written from the contract.
func restartsOn(pod *v1.Pod, c *v1.Container, code int32) bool {
	policy := v1.ContainerRestartPolicy(pod.Spec.RestartPolicy)
	if c.RestartPolicy != nil {
		for _, rule := range c.RestartPolicyRules {
			if slices.Contains(rule.ExitCodes.Values, code) == (rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn) {
				return rule.Action != ActionComplete && rule.Action != ActionTerminatePod
			}
		}
		policy = *c.RestartPolicy
	}
	return policy == v1.ContainerRestartPolicyAlways || policy == v1.ContainerRestartPolicyOnFailure && code != 0
}

// pause lets time pass until the machine wakes, or until the next relist.
func (w *walk) pause() {
	if !w.wakeAt.IsZero() && w.wakeAt.Before(w.relistAt) {
		w.now, w.wakeAt = later(w.now, w.wakeAt.Add(-time.Millisecond)), time.Time{}
		w.feed(Woke{})
		return
	}
	w.now = later(w.now, w.relistAt)
	w.relistAt = w.now.Add(10 * time.Second)
	w.feed(w.snapshot())
}

// randomPod draws a pod; every policy, kind and rule of a container is possible.
func randomPod(rt *rapid.T) *v1.Pod {
	pod := &v1.Pod{}
	pod.Spec.RestartPolicy = rapid.SampledFrom([]v1.RestartPolicy{"Always", "OnFailure", "Never"}).Draw(rt, "policy")
	pod.Spec.TerminationGracePeriodSeconds = new(rapid.SampledFrom([]int64{0, 1, 30}).Draw(rt, "grace"))
	if rapid.IntRange(0, 9).Draw(rt, "has deadline") == 9 {
		pod.Spec.ActiveDeadlineSeconds = new(rapid.Int64Range(1, 100).Draw(rt, "deadline"))
	}
	for i := range rapid.IntRange(0, 3).Draw(rt, "inits") {
		c := randomContainer(rt, "i"+string(rune('0'+i)))
		if rapid.Bool().Draw(rt, "sidecar") {
			c.Lifecycle = randomHooks(rt)
			c.RestartPolicy, c.RestartPolicyRules = new(v1.ContainerRestartPolicyAlways), nil
			randomProbes(rt, &c)
		} else if c.RestartPolicy != nil && *c.RestartPolicy == v1.ContainerRestartPolicyAlways {
			c.RestartPolicy = new(v1.ContainerRestartPolicyNever)
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
	}
	for i := range rapid.IntRange(1, 3).Draw(rt, "regulars") {
		pod.Spec.Containers = append(pod.Spec.Containers, randomContainer(rt, "c"+string(rune('0'+i))))
		pod.Spec.Containers[i].Lifecycle = randomHooks(rt)
		randomProbes(rt, &pod.Spec.Containers[i])
	}
	if rapid.IntRange(0, 3).Draw(rt, "has a gate") == 3 {
		pod.Spec.ReadinessGates = []v1.PodReadinessGate{{ConditionType: "example.com/gate"}}
	}
	pod.Spec.Volumes = []v1.Volume{imageVolumeOf(rapid.SampledFrom([]v1.PullPolicy{v1.PullIfNotPresent, v1.PullAlways, v1.PullNever}).Draw(rt, "volume's pull policy"))}
	for i := range pod.Spec.Containers {
		randomResources(rt, pod, &pod.Spec.Containers[i])
	}
	if rapid.Bool().Draw(rt, "has a configMap volume") {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "conf", VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{}}})
	}
	if rapid.IntRange(0, 3).Draw(rt, "has a storage limit") == 3 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "limited", VolumeSource: v1.VolumeSource{
			EmptyDir: &v1.EmptyDirVolumeSource{SizeLimit: new(resource.MustParse("1Mi"))},
		}})
	}
	if rapid.IntRange(0, 3).Draw(rt, "has a claim") == 3 {
		claim := &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}
		pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: claim}})
	}
	pod.Spec.ResourceClaims = randomClaims(rt)
	randomGroup(rt, pod)
	defaults(pod)
	return pod
}

func imageVolumeOf(policy v1.PullPolicy) v1.Volume {
	source := &v1.ImageVolumeSource{Reference: "other:2", PullPolicy: policy}
	return v1.Volume{Name: "model", VolumeSource: v1.VolumeSource{Image: source}}
}

func randomContainer(rt *rapid.T, name string) v1.Container {
	c := v1.Container{Name: name, Image: rapid.SampledFrom([]string{"img:1", "other:2"}).Draw(rt, "image")}
	c.ImagePullPolicy = rapid.SampledFrom([]v1.PullPolicy{v1.PullIfNotPresent, v1.PullAlways}).Draw(rt, "pull policy")
	if rapid.IntRange(0, 3).Draw(rt, "mounts the image volume") == 3 {
		c.VolumeMounts = []v1.VolumeMount{{Name: "model", MountPath: "/m"}}
	}
	if rapid.IntRange(0, 3).Draw(rt, "own policy") == 3 {
		c.RestartPolicy = new(rapid.SampledFrom([]v1.ContainerRestartPolicy{"Always", "OnFailure", "Never"}).Draw(rt, "container policy"))
		for range rapid.IntRange(0, 2).Draw(rt, "rules") {
			c.RestartPolicyRules = append(c.RestartPolicyRules, randomRule(rt))
		}
	}
	return c
}

func randomRule(rt *rapid.T) v1.ContainerRestartRule {
	if rapid.IntRange(0, 1).Draw(rt, "rare action") == 1 {
		return rareRule(rt)
	}
	return v1.ContainerRestartRule{
		Action: v1.ContainerRestartRuleActionRestart,
		ExitCodes: &v1.ContainerRestartRuleOnExitCodes{
			Operator: rapid.SampledFrom([]v1.ContainerRestartRuleOnExitCodesOperator{"In", "NotIn"}).Draw(rt, "operator"),
			Values:   rapid.SliceOfN(rapid.SampledFrom([]int32{0, 1, 42, 137}), 1, 2).Draw(rt, "codes"),
		},
	}
}
