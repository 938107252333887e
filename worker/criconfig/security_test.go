package criconfig

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/sys/mountinfo"
	"google.golang.org/protobuf/testing/protocmp"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func TestContainerFieldsOverrideThePod(t *testing.T) {
	pod := testPod()
	pod.Spec.SecurityContext = &v1.PodSecurityContext{
		RunAsUser: ptr.To[int64](1), RunAsGroup: ptr.To[int64](2), SELinuxOptions: &v1.SELinuxOptions{Type: "pod"}, FSGroup: ptr.To[int64](3), SupplementalGroups: []int64{4},
	}
	own := &v1.SecurityContext{RunAsUser: ptr.To[int64](11), RunAsGroup: ptr.To[int64](12), SELinuxOptions: &v1.SELinuxOptions{Type: "own"}, Privileged: new(true)}
	for _, tc := range []struct {
		name       string
		sc         *v1.SecurityContext
		user       int64
		group      int64
		selinux    string
		privileged bool
	}{
		{"A-SEC-1 the pod's", nil, 1, 2, "pod", false},
		{"A-SEC-1 the container's", own, 11, 12, "own", true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := assert.Get(containerSecurity(ContainerInput{Pod: pod, Container: &v1.Container{SecurityContext: tc.sc}, ImageUser: ImageUser{Name: "nobody"}})).Must(t)
			want := &runtimeapi.LinuxContainerSecurityContext{
				RunAsUser: &runtimeapi.Int64Value{Value: tc.user}, RunAsGroup: &runtimeapi.Int64Value{Value: tc.group},
				SelinuxOptions: &runtimeapi.SELinuxOption{Type: tc.selinux}, Privileged: tc.privileged,
				SupplementalGroups: []int64{3, 4},
				NamespaceOptions:   namespaces(pod, nil), MaskedPaths: maskedPaths, ReadonlyPaths: readonlyPaths,
				Seccomp: &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined},
			}
			assert.Deep(t, "A-SEC-1, A-SEC-3, A-SEC-4", want, got, protocmp.Transform())
		})
	}
	assert.True(t, pod.Spec.SecurityContext.RunAsUser != nil && own.RunAsNonRoot == nil, "the pod was changed")
}

func TestImageUser(t *testing.T) {
	for _, tc := range []struct {
		name     string
		in       ImageUser
		wantUID  *runtimeapi.Int64Value
		wantName string
	}{
		{"A-SEC-1 id", ImageUser{UID: ptr.To[int64](7)}, &runtimeapi.Int64Value{Value: 7}, ""},
		{"A-SEC-1 name", ImageUser{Name: "nobody"}, nil, "nobody"},
		{"A-SEC-1 neither is root", ImageUser{}, &runtimeapi.Int64Value{}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			uid, name := imageUser(tc.in)
			diff := cmp.Diff(tc.wantUID, uid, protocmp.Transform())
			assert.True(t, diff == "" && name == tc.wantName, "name %q, uid (-want +got):\n%s", name, diff)
		})
	}
}

func TestRunAsNonRoot(t *testing.T) {
	const where = `(pod: "web_ns(uid-1)", container: main)`
	nonRoot := &v1.SecurityContext{RunAsNonRoot: new(true)}
	for _, tc := range []struct {
		name  string
		pod   *v1.PodSecurityContext
		own   *v1.SecurityContext
		image ImageUser
		want  string
	}{
		{"not asked for", nil, nil, ImageUser{}, ""},
		{"runAsUser", nil, &v1.SecurityContext{RunAsNonRoot: new(true), RunAsUser: ptr.To[int64](1)}, ImageUser{}, ""},
		{"the pod's, undone by the container", &v1.PodSecurityContext{RunAsNonRoot: new(true)}, &v1.SecurityContext{RunAsNonRoot: new(false)}, ImageUser{}, ""},
		{"runAsUser 0", &v1.PodSecurityContext{RunAsUser: ptr.To[int64](0)}, nonRoot, ImageUser{UID: ptr.To[int64](1)}, "container's runAsUser breaks non-root policy " + where},
		{"image of root", nil, nonRoot, ImageUser{UID: ptr.To[int64](0)}, "container has runAsNonRoot and image will run as root " + where},
		{"image without user", nil, nonRoot, ImageUser{}, "container has runAsNonRoot and image will run as root " + where},
		{"image with a name", nil, nonRoot, ImageUser{Name: "nobody"}, "container has runAsNonRoot and image has non-numeric user (nobody), cannot verify user is non-root " + where},
		{"image with an id", nil, nonRoot, ImageUser{UID: ptr.To[int64](65532)}, ""},
		{
			"image with an impossible id", nil, nonRoot, ImageUser{UID: ptr.To[int64](1 << 31)},
			"container has runAsNonRoot and image has an invalid user id (2147483648). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive " + where,
		},
	} {
		t.Run("A-SEC-2 "+tc.name, func(t *testing.T) {
			pod := testPod()
			pod.Spec.SecurityContext = tc.pod
			assert.Error(t, tc.want, assert.ErrorOf(Container(ContainerInput{Pod: pod, Container: &v1.Container{Name: "main", SecurityContext: tc.own}, ImageUser: tc.image})))
		})
	}
}

func TestSeccomp(t *testing.T) {
	localhost := func(name *string) *v1.SeccompProfile {
		return &v1.SeccompProfile{Type: v1.SeccompProfileTypeLocalhost, LocalhostProfile: name}
	}
	unconfined := &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}
	for _, tc := range []struct {
		name     string
		byNode   bool
		pod, own *v1.SeccompProfile
		want     *runtimeapi.SecurityProfile
		wantErr  string
	}{
		{"nothing", false, nil, nil, unconfined, ""},
		{"default of the node", true, nil, nil, runtimeDefault(), ""},
		{"the pod's", true, &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}, nil, unconfined, ""},
		{"the container's", false, &v1.SeccompProfile{Type: v1.SeccompProfileTypeUnconfined}, &v1.SeccompProfile{Type: v1.SeccompProfileTypeRuntimeDefault}, runtimeDefault(), ""},
		{
			"a file of the host", false, nil, localhost(new("a/b.json")),
			&runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Localhost, LocalhostRef: "/root/seccomp/a/b.json"}, "",
		},
		{"a file without a name", false, nil, localhost(nil), nil, "localhostProfile must be set if seccompProfile type is Localhost."},
	} {
		t.Run("A-SEC-4 "+tc.name, func(t *testing.T) {
			pod := testPod()
			pod.Spec.SecurityContext.SeccompProfile = tc.pod
			got, err := Container(ContainerInput{
				Node: Node{Seccomp: Seccomp{Root: "/root/seccomp", Default: tc.byNode}}, Pod: pod,
				Container: &v1.Container{Name: "main", SecurityContext: &v1.SecurityContext{SeccompProfile: tc.own}},
			})
			assert.Error(t, tc.wantErr, err)
			assert.Deep(t, "profile", tc.want, got.GetLinux().GetSecurityContext().GetSeccomp(), protocmp.Transform())
		})
	}
}

func TestAppArmor(t *testing.T) {
	profile := func(kind v1.AppArmorProfileType) *v1.AppArmorProfile { return &v1.AppArmorProfile{Type: kind} }
	for _, tc := range []struct {
		name       string
		own        *v1.AppArmorProfile
		annotation string
		pod        *v1.AppArmorProfile
		kind       runtimeapi.SecurityProfile_ProfileType
		ref        string
		legacy     string
	}{
		{"field", profile(v1.AppArmorProfileTypeUnconfined), "runtime/default", nil, runtimeapi.SecurityProfile_Unconfined, "", "unconfined"},
		{"annotation before the pod's field", nil, "localhost/mine", profile(v1.AppArmorProfileTypeUnconfined), runtimeapi.SecurityProfile_Localhost, "mine", "localhost/mine"},
		{"the pod's field", nil, "", profile(v1.AppArmorProfileTypeRuntimeDefault), runtimeapi.SecurityProfile_RuntimeDefault, "", "runtime/default"},
		{"annotation unconfined", nil, "unconfined", nil, runtimeapi.SecurityProfile_Unconfined, "", "unconfined"},
		{"annotation default", nil, "runtime/default", nil, runtimeapi.SecurityProfile_RuntimeDefault, "", "runtime/default"},
	} {
		t.Run("A-SEC-4 "+tc.name, func(t *testing.T) {
			pod := testPod()
			pod.Spec.SecurityContext.AppArmorProfile = tc.pod
			pod.Annotations = map[string]string{"container.apparmor.security.beta.kubernetes.io/main": tc.annotation}
			got, legacy, err := appArmor(pod, &v1.Container{Name: "main", SecurityContext: &v1.SecurityContext{AppArmorProfile: tc.own}})
			assert.Must(t, err)
			assert.True(t, got.ProfileType == tc.kind && got.LocalhostRef == tc.ref && legacy == tc.legacy,
				"got %v, %q, want %v, %q, %q", got, legacy, tc.kind, tc.ref, tc.legacy)
		})
	}
	got, legacy, err := appArmor(testPod(), &v1.Container{Name: "main"})
	assert.True(t, got == nil && legacy == "" && err == nil, "without a profile: %v, %q, %v", got, legacy, err)
	_, _, err = appArmor(testPod(), &v1.Container{SecurityContext: &v1.SecurityContext{AppArmorProfile: profile(v1.AppArmorProfileTypeLocalhost)}})
	assert.True(t, err != nil, "a Localhost profile without a name was accepted")
}

func TestProcMountUnmasked(t *testing.T) {
	sc := &v1.SecurityContext{ProcMount: ptr.To(v1.UnmaskedProcMount)}
	got, err := containerSecurity(ContainerInput{Pod: testPod(), Container: &v1.Container{SecurityContext: sc}, Node: Node{MaskedPaths: []string{"/x"}}})
	assert.True(t, err == nil && len(got.MaskedPaths)+len(got.ReadonlyPaths) == 0,
		"A-SEC-5 masked %v, read-only %v, %v, want none", got.MaskedPaths, got.ReadonlyPaths, err)
}

// TestLabelsEachFile: the mount that a path is on says whether its files have labels of their own
// (A-VOL-2).
func TestLabelsEachFile(t *testing.T) {
	const begin = `1 0 8:1 / / rw - ext4 /dev/a rw,seclabel
2 1 0:2 / /pods/u/labelled rw,relatime - ext4 /dev/b rw,context="system_u:object_r:container_file_t:s0:c1,c2"
3 1 0:3 / /pods/u/each rw,seclabel - xfs /dev/c rw
`
	for name, test := range map[string]struct {
		mounts string
		path   string
		want   bool
	}{
		"of the root":            {begin, "/pods/u/other", true},
		"one label":              {begin, "/pods/u/labelled", false},
		"an option of the mount": {begin, "/pods/u/each", true},
		"covered by another":     {begin + "4 1 0:4 / /pods/u/each rw - nfs server:/ rw\n", "/pods/u/each", false},
		"none":                   {"", "/pods", false},
	} {
		mounts := assert.Get(mountinfo.GetMountsFromReader(strings.NewReader(test.mounts), mountinfo.ParentsFilter(test.path))).Must(t)
		assert.Equal(t, test.want, labelsEachFile(mounts), "%s", name)
	}
}

// TestLabels: options that say nothing give no label, nor does a machine without SELinux.
func TestLabels(t *testing.T) {
	for _, options := range []v1.SELinuxOptions{{}, {Level: "s0:c1,c2"}} {
		label, err := SELinuxLabels{}.FileLabel(options)
		assert.True(t, err == nil && (label != "") == (SELinuxEnabled() && options.Level != ""), "label of %+v: %q, error %v", options, label, err)
	}
	assert.NoError(t, assert.ErrorOf((SELinuxLabels{}).Relabels(t.TempDir())))
}
