package lifecycle

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/assert"
)

// playResize carries out the verbs of resizes:
//
//	resize                     resources as YAML are asked for, by container or for the pod: {a: {limits: {cpu: 1}}}
//	refuse reason=R message=M  the node has no room
//	used pod=N [container=N]…  answers MeasureMemory
//	actual container           answers ResizeContainer with what the runtime says, as YAML
//	running-with container     the runtime's word that it runs, with resources as YAML
//	resources                  generation, resize conditions and resources in the status
func (tr *transcript) playResize(t *testing.T, d *datadriven.TestData) {
	switch d.Cmd {
	case "resize":
		tr.feed(resizeOf(t, d.Input))
	case "refuse":
		id := tr.takePending(t, "AdmitResize").EffectID()
		tr.feed(ResizeAdmitted{Result: Result{ID: id}, Reason: stringArg(d, "reason"), Message: stringArg(d, "message")})
	case "used":
		f := MemoryMeasured{Result: Result{ID: tr.takePending(t, "MeasureMemory").EffectID()}}
		for _, a := range d.CmdArgs {
			bytes := resource.MustParse(a.Vals[0])
			if a.Key == "pod" {
				f.Pod = bytes.Value()
				continue
			}
			f.Containers = append(f.Containers, ContainerMemory{Name: a.Key, Bytes: bytes.Value()})
		}
		tr.feed(f)
	case "actual":
		id := tr.takePending(t, "ResizeContainer "+d.CmdArgs[0].Key).EffectID()
		tr.feed(ContainerResized{Result: Result{ID: id}, Actual: requirements(t, d.Input)})
	case "running-with":
		id := tr.runtime.newest(t, d.CmdArgs[0].Key).ID
		tr.feed(ContainerRunning{ContainerID: id, Resources: requirements(t, d.Input)})
	case "resources":
		tr.printResources(t)
	}
}

func resizeOf(t *testing.T, text string) ResizeRequested {
	byName := map[string]v1.ResourceRequirements{}
	assert.Must(t, yaml.UnmarshalStrict([]byte(text), &byName))
	var f ResizeRequested
	for name, resources := range byName {
		if name == "pod" {
			f.Pod = &resources
			continue
		}
		f.Containers = append(f.Containers, ContainerResources{Name: name, Resources: resources})
	}
	return f
}

func requirements(t *testing.T, text string) *v1.ResourceRequirements {
	r := &v1.ResourceRequirements{}
	assert.Must(t, yaml.UnmarshalStrict([]byte(text), r))
	return r
}

func (tr *transcript) takePending(t *testing.T, text string) Effect {
	i := slices.IndexFunc(tr.pending, func(e Effect) bool { return strings.HasPrefix(effectText(e), text) })
	assert.Require(t, i >= 0, "no pending %s", text)
	return tr.take(i)
}

func (tr *transcript) printResources(t *testing.T) {
	s := tr.m.Status()
	tr.printf("generation=%d pod: %s allocated %s\n", s.ObservedGeneration, resourcesText(t, s.Resources), resourcesText(t, s.AllocatedResources))
	for _, c := range s.Conditions {
		switch c.Type {
		case v1.PodResizePending, v1.PodResizeInProgress:
			tr.printf("  %s=%s %s %q generation=%d since %s probed %s\n", c.Type, c.Status, c.Reason, c.Message, c.ObservedGeneration,
				tr.clock(c.LastTransitionTime.Time), tr.clock(c.LastProbeTime.Time))
		}
	}
	for _, c := range slices.Concat(s.InitContainerStatuses, s.ContainerStatuses) {
		tr.printf("  %s: %s allocated %s\n", c.Name, resourcesText(t, c.Resources), resourcesText(t, c.AllocatedResources))
	}
}

func resourcesText(t fataler, of any) string {
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return strings.ReplaceAll(string(text), `"`, "")
}

// roomText lists what ResizeCgroup must have room for.
func roomText(room []Allocation) string {
	var sets []string
	for _, a := range room {
		var parts []string
		if a.Pod != nil {
			parts = append(parts, "pod"+resourcesText(neverFails{}, a.Pod))
		}
		for _, c := range a.Containers {
			parts = append(parts, c.Name+resourcesText(neverFails{}, c.Resources))
		}
		sets = append(sets, strings.Join(parts, " "))
	}
	return strings.Join(sets, " and ")
}

type neverFails struct{}

func (neverFails) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
