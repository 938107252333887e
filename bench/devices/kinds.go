package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/bench/testbed"
)

// kind is a way in which a worker gets two devices.
type kind struct {
	name string
	run  func(context.Context, *side) (*driver, error)
	// pod is the worker.
	pod func(node string) *v1.Pod
	// count is how many devices there are in what devicesOf returns.
	count func([]string) int
}

var kinds = []kind{
	{"device plugin", runSamplePlugin, pluginPod, func(all []string) int { return countOf(all, sampleDevice) }},
	{"resource claim", runExampleDriver, claimPod, func(all []string) int { return countOf(all, exampleDevice) }},
}

// What the drivers put into containers.
var (
	sampleDevice  = regexp.MustCompile(`^mount /tmp/Dev-\d+ `)
	exampleDevice = regexp.MustCompile(`^GPU_DEVICE_\d+=`)
)

func countOf(all []string, of *regexp.Regexp) (n int) {
	for _, one := range all {
		if of.MatchString(one) {
			n++
		}
	}
	return n
}

// devicesOf returns what the drivers have put into a pod's main container: the variables and
// mounts that its process has.
func (s *side) devicesOf(ctx context.Context, pod string) ([]string, error) {
	pid, err := s.Floor.PID(ctx, s.MainOf(pod))
	if err != nil {
		return nil, err
	}
	environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return nil, err
	}
	var found []string
	for variable := range strings.SplitSeq(string(environment), "\x00") {
		if strings.HasPrefix(variable, "GPU_") || strings.HasPrefix(variable, "DRA_") {
			found = append(found, variable)
		}
	}
	file, err := os.Open(fmt.Sprintf("/proc/%d/mountinfo", pid))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	mounts, err := mountinfo.GetMountsFromReader(file, mountinfo.PrefixFilter("/tmp"))
	for _, m := range mounts {
		found = append(found, fmt.Sprintf("mount %s of %s", m.Mountpoint, m.Root))
	}
	slices.Sort(found)
	return found, err
}

// pluginPod is a worker with the two devices of the sample device plugin.
func pluginPod(node string) *v1.Pod {
	pod := testbed.NewWorkerPod(node)
	pod.Spec.Containers[0].Resources.Limits = v1.ResourceList{sampleResource: resource.MustParse("2")}
	return pod
}

// claimPod is a worker with two devices of the driver dra-example-driver. The scheduler chooses
// them.
func claimPod(node string) *v1.Pod {
	pod := testbed.NewWorkerPod("")
	pod.Spec.NodeSelector = map[string]string{v1.LabelHostname: node}
	pod.Spec.ResourceClaims = []v1.PodResourceClaim{{Name: "gpus", ResourceClaimTemplateName: new("gpus")}}
	pod.Spec.Containers[0].Resources.Claims = []v1.ResourceClaim{{Name: "gpus"}}
	return pod
}

// createClaims makes the DeviceClass and the template of claimPod.
func (b *bench) createClaims(ctx context.Context) error {
	_, err := b.API.ResourceV1().DeviceClasses().Create(ctx, &resourceapi.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: exampleDriver},
		Spec: resourceapi.DeviceClassSpec{Selectors: []resourceapi.DeviceSelector{{
			CEL: &resourceapi.CELDeviceSelector{Expression: `device.driver == "` + exampleDriver + `"`},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	_, err = b.API.ResourceV1().ResourceClaimTemplates(testbed.Namespace).Create(ctx, &resourceapi.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpus"},
		Spec: resourceapi.ResourceClaimTemplateSpec{Spec: resourceapi.ResourceClaimSpec{Devices: resourceapi.DeviceClaim{
			Requests: []resourceapi.DeviceRequest{{
				Name: "gpus", Exactly: &resourceapi.ExactDeviceRequest{DeviceClassName: exampleDriver, Count: 2},
			}},
		}}},
	}, metav1.CreateOptions{})
	return err
}
