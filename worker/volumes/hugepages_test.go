package volumes

import (
	"io/fs"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestHugePageSize(t *testing.T) {
	request := func(names ...v1.ResourceName) *v1.Pod {
		pod := &v1.Pod{}
		for _, name := range names {
			pod.Spec.Containers = append(pod.Spec.Containers, v1.Container{Resources: v1.ResourceRequirements{Requests: v1.ResourceList{name: resource.MustParse("4Mi"), "cpu": {}}}})
		}
		return pod
	}
	const none = "hugePages storage requested, but there is no resource request for huge pages"
	for _, tc := range []struct {
		name    string
		pod     *v1.Pod
		medium  v1.StorageMedium
		want    string
		wantErr string
	}{
		{"the only one", request("hugepages-2Mi", "hugepages-2Mi"), "HugePages", "2Mi", ""},
		{"named", request("hugepages-1Gi", "hugepages-2Mi"), "HugePages-1Gi", "1Gi", ""},
		{"several", request("hugepages-1Gi", "hugepages-2Mi"), "HugePages", "", "medium: HugePages can't be used if container requests multiple huge page sizes"},
		{"none", request("memory"), "HugePages", "", "medium HugePages: " + none},
		{"another", request("hugepages-1Gi"), "HugePages-2Mi", "", "medium HugePages-2Mi: " + none},
	} {
		t.Run("A-SYNC-8 "+tc.name, func(t *testing.T) {
			got, err := hugePageSize(tc.pod, tc.medium)
			assert.True(t, errorText(err) == tc.wantErr && (err != nil || got.String() == tc.want), "%s, %v, want %s%s", got.String(), err, tc.want, tc.wantErr)
		})
	}
}

// TestHugePagesVolume mounts one; whether the host has set pages aside does not matter
// for that. The mode is the kernel's, to which fsGroup adds.
func TestHugePagesVolume(t *testing.T) {
	hugePagesVolume(t, nil, fs.ModeDir|0o755)
	hugePagesVolume(t, &v1.PodSecurityContext{FSGroup: ptr.To[int64](2000)}, fs.ModeDir|fs.ModeSetgid|0o775)
}

func hugePagesVolume(t *testing.T, security *v1.PodSecurityContext, mode fs.FileMode) {
	t.Helper()
	volume := emptyDirVolume("huge")
	volume.EmptyDir.Medium = "HugePages-2Mi"
	pod := podWith(volume)
	pod.Spec.Containers[0].Resources.Requests = v1.ResourceList{"hugepages-2Mi": resource.MustParse("4Mi")}
	pod.Spec.SecurityContext = security
	dir := testPodDir(t)
	for range 2 {
		path, _ := prepare(t, pod, dir, objects{}).Path("huge")
		var stat unix.Statfs_t
		if err := unix.Statfs(path, &stat); err != nil || stat.Type != unix.HUGETLBFS_MAGIC || stat.Bsize != 2<<20 {
			t.Errorf("statfs = %+v, %v, want a hugetlbfs with pages of 2 MiB", stat, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != mode || security != nil && info.Sys().(*syscall.Stat_t).Gid != 2000 {
			t.Errorf("%v, %v, want mode %v and the fsGroup", info, err, mode)
		}
	}
	assert.Equal(t, 1, mountPoints(t, dir), "mounts")
}
