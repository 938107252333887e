package worker

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Groups that persistent volumes name are the pod's, once: sandbox and container have
// them beside its own (A-SEC-3).
func TestVolumeGroups(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		dir := t.TempDir()
		s.node.API.Volumes = boundTo{"shared": hostPathVolume(dir, "77"), "known": hostPathVolume(dir, "78"), "odd": hostPathVolume(dir, "staff")}
		seen := &securityOf{RuntimeServiceClient: s.Runtime}
		s.node.Runtime = seen
		pod := podOf("a", v1.RestartPolicyAlways, "main")
		pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: new(int64(5)), SupplementalGroups: []int64{78}}
		for name := range s.node.API.Volumes.(boundTo) {
			claim := &v1.PersistentVolumeClaimVolumeSource{ClaimName: name}
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: claim}})
			pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
		}
		l := s.run(pod)
		l.await("running", func(status v1.PodStatus) bool { return status.Phase == v1.PodRunning })
		assert.Deep(t, "supplemental groups", map[string][]int64{"sandbox": {5, 78, 77}, "main": {5, 78, 77}}, seen.sofar())
	})
}

// The groups are known, and the sandbox is made with them, before a driver has published the volume
// that names one: what it is bound to is enough (A-SEC-3, A-SYNC-8).
func TestVolumeGroupsBesideDriver(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		bound := hostPathVolume("", "77")
		bound.Spec.PersistentVolumeSource = v1.PersistentVolumeSource{CSI: &v1.CSIPersistentVolumeSource{Driver: "d", VolumeHandle: "h"}}
		s.node.API.Volumes = boundTo{"data": bound}
		driver := &slowDriver{dir: t.TempDir(), publish: make(chan struct{})}
		s.node.API.CSI = driver
		seen := &securityOf{RuntimeServiceClient: s.Runtime}
		s.node.Runtime = seen
		pod := podOf("a", v1.RestartPolicyAlways, "main")
		claim := &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}
		pod.Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: claim}}}
		pod.Spec.Containers[0].VolumeMounts = []v1.VolumeMount{{Name: "data", MountPath: "/data"}}
		l := s.run(pod)
		synctest.Wait()
		assert.Deep(t, "before the driver's answer, supplemental groups", map[string][]int64{"sandbox": {77}}, seen.sofar())
		close(driver.publish)
		l.await("running", func(status v1.PodStatus) bool { return status.Phase == v1.PodRunning })
		assert.Deep(t, "supplemental groups", map[string][]int64{"sandbox": {77}, "main": {77}}, seen.sofar())
	})
}

// slowDriver publishes a folder once it may.
type slowDriver struct {
	dir     string
	publish chan struct{}
}

func (d *slowDriver) Publish(ctx context.Context, _ volumes.CSIRequest) (volumes.CSIVolume, error) {
	select {
	case <-d.publish:
		return volumes.CSIVolume{Path: d.dir}, nil
	case <-ctx.Done():
		return volumes.CSIVolume{}, ctx.Err()
	}
}

func (*slowDriver) Unpublish(context.Context, types.UID) error { return nil }

// boundTo has the persistent volumes by the names of their volumes in the pod.
type boundTo map[string]*v1.PersistentVolume

func (b boundTo) PersistentVolume(_ context.Context, _ *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error) {
	return b[volume.Name], nil
}

func (boundTo) Migrated(*v1.Pod, *v1.Volume) (*v1.PersistentVolume, error) { return nil, nil }

func (boundTo) Reachable(*v1.PersistentVolume) error { return nil }

func (boundTo) Token(context.Context, *v1.Pod, *v1.ServiceAccountTokenProjection) (string, error) {
	return "", nil
}

func (boundTo) TrustAnchors(context.Context, *v1.ClusterTrustBundleProjection) ([]byte, error) {
	return nil, nil
}

func (boundTo) PodCertificate(context.Context, *v1.Pod, *v1.Volume, int) (volumes.Credentials, error) {
	return volumes.Credentials{}, nil
}

var _ volumes.API = boundTo{}

func hostPathVolume(path, group string) *v1.PersistentVolume {
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv-" + group, Annotations: map[string]string{"pv.beta.kubernetes.io/gid": group}},
		Spec:       v1.PersistentVolumeSpec{PersistentVolumeSource: v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: path}}},
	}
}

// securityOf remembers the groups that sandbox and containers were asked for with.
type securityOf struct {
	runtimeapi.RuntimeServiceClient
	mu     sync.Mutex
	groups map[string][]int64
}

func (s *securityOf) RunPodSandbox(ctx context.Context, in *runtimeapi.RunPodSandboxRequest, options ...grpc.CallOption) (*runtimeapi.RunPodSandboxResponse, error) {
	s.add("sandbox", in.Config.Linux.SecurityContext.SupplementalGroups)
	return s.RuntimeServiceClient.RunPodSandbox(ctx, in, options...)
}

func (s *securityOf) CreateContainer(ctx context.Context, in *runtimeapi.CreateContainerRequest, options ...grpc.CallOption) (*runtimeapi.CreateContainerResponse, error) {
	s.add(in.Config.Metadata.Name, in.Config.Linux.SecurityContext.SupplementalGroups)
	return s.RuntimeServiceClient.CreateContainer(ctx, in, options...)
}

func (s *securityOf) sofar() map[string][]int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.groups)
}

func (s *securityOf) add(what string, groups []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.groups == nil {
		s.groups = map[string][]int64{}
	}
	s.groups[what] = groups
}

// What is done for volumes is counted, by the plugin that Kubernetes has for them (A-VOL-7).
func TestVolumeOperations(t *testing.T) {
	inStory(t, func(t *testing.T, s *story) {
		var mu sync.Mutex
		var counted []string
		s.node.API.Volumes = boundTo{"claim": hostPathVolume(t.TempDir(), "77")}
		s.node.API.VolumeOperation = func(o volumes.Operation) {
			mu.Lock()
			defer mu.Unlock()
			status := "success"
			if o.Failed {
				status = "failure"
			}
			counted = append(counted, o.Plugin+" "+o.Name+" "+status)
		}
		pod := podOf("a", v1.RestartPolicyAlways, "main")
		mount := func(name string, source v1.VolumeSource) {
			pod.Spec.Volumes = append(pod.Spec.Volumes, v1.Volume{Name: name, VolumeSource: source})
			pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: name, MountPath: "/" + name})
		}
		mount("disk", v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{}})
		mount("claim", v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}})
		l := s.run(pod)
		l.await("running", func(status v1.PodStatus) bool { return status.Phase == v1.PodRunning })
		l.ends(0)
		mu.Lock()
		defer mu.Unlock()
		slices.Sort(counted)
		want := []string{
			"kubernetes.io/empty-dir volume_mount success", "kubernetes.io/empty-dir volume_unmount success",
			"kubernetes.io/host-path volume_mount success", "kubernetes.io/host-path volume_unmount success",
		}
		assert.Deep(t, "operations", want, counted)
	})
}
