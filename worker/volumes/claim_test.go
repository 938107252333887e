package volumes

import (
	"os"
	"path/filepath"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

func claimVolume(name string, readOnly bool) v1.Volume {
	source := &v1.PersistentVolumeClaimVolumeSource{ClaimName: name, ReadOnly: readOnly}
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{PersistentVolumeClaim: source}}
}

func prepareClaim(t *testing.T, pod *v1.Pod, dir, claims string) Mounted {
	t.Helper()
	return assert.Get(Prepare(t.Context(), pod, dir, Sources{Objects: objects{}, ClaimsDir: claims})).Must(t)
}

func TestClaimOutlivesThePod(t *testing.T) {
	claims, dir := filepath.Join(t.TempDir(), "claims"), testPodDir(t)
	m := prepareClaim(t, podWith(claimVolume("data", false)), dir, claims)
	path, _ := m.Path("data")
	assert.Equal(t, filepath.Join(claims, "ns", "data"), path, "path")
	assert.Deep(t, "", []string{". drwxrwxrwx 0"}, tree(t, path))
	assert.Must(t, os.WriteFile(filepath.Join(path, "kept"), []byte("x"), 0o600))
	c := &v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/d", SubPath: "sub"}}}
	assert.Must(t, assert.ErrorOf(m.Mounts(c, MountInput{})))
	assert.Must(t, Remove(dir))
	entries, err := os.ReadDir(path)
	assert.True(t, err == nil && len(entries) == 2, "after the pod's end the claim has %v, %v, want kept and sub", entries, err)
	entries, err = os.ReadDir(filepath.Dir(path))
	assert.True(t, err == nil && len(entries) == 1, "claims: %v, %v, want only data", entries, err)
}

// TestClaimMadeByTwoAtOnce: the folder that one pod already uses is never replaced.
func TestClaimMadeByTwoAtOnce(t *testing.T) {
	claims := t.TempDir()
	made := make(chan string)
	for range 20 {
		go func() {
			dir := filepath.Join(claims, "ns", "data")
			err := newDiskDir(dir, nil)
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, "mark"), nil, 0o600)
			}
			made <- filepath.Join(dir, errorText(err))
		}()
	}
	for range 20 {
		path := <-made
		assert.True(t, path == filepath.Join(claims, "ns", "data"), "%v", path)
	}
	assert.NoError(t, assert.ErrorOf(os.Stat(filepath.Join(claims, "ns", "data", "mark"))), "what was written is gone")
	entries, err := os.ReadDir(filepath.Join(claims, "ns"))
	assert.True(t, err == nil && len(entries) == 1, "left over: %v, %v", entries, err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestClaimReadOnly(t *testing.T) {
	m := prepareClaim(t, podWith(claimVolume("data", true)), testPodDir(t), t.TempDir())
	mounts, err := m.Mounts(&v1.Container{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "data", MountPath: "/d"}}}, MountInput{})
	assert.True(t, err == nil && mounts[0].Readonly, "A-VOL-2 mounts %v, %v, want a read-only one", mounts, err)
}

// TestClaimFSGroup: what is in a claim already becomes the group's, unless
// OnRootMismatch finds the top as it should be.
func TestClaimFSGroup(t *testing.T) {
	claims := t.TempDir()
	pod := podWith(claimVolume("data", false))
	path, _ := prepareClaim(t, pod, testPodDir(t), claims).Path("data")
	addFile := func(name string) {
		assert.Must(t, os.WriteFile(filepath.Join(path, name), nil, 0o600))
		assert.Must(t, os.Chown(filepath.Join(path, name), 0, 0))
	}
	addFile("first")
	outside := filepath.Join(t.TempDir(), "precious")
	assert.Must(t, os.WriteFile(outside, nil, 0o600))
	assert.Must(t, os.Symlink(outside, filepath.Join(path, "link")))
	pod.Spec.SecurityContext = &v1.PodSecurityContext{FSGroup: ptr.To[int64](2000), FSGroupChangePolicy: ptr.To(v1.FSGroupChangeOnRootMismatch)}
	prepareClaim(t, pod, testPodDir(t), claims)
	want := []string{". dgrwxrwxrwx 2000", "first -rw-rw---- 2000", "link -> " + outside}
	assert.Deep(t, "mismatch", want, tree(t, path))

	addFile("second")
	prepareClaim(t, pod, testPodDir(t), claims)
	want = append(want, "second -rw------- 0")
	assert.Deep(t, "OnRootMismatch, no mismatch", want, tree(t, path))

	pod.Spec.SecurityContext.FSGroupChangePolicy = nil
	prepareClaim(t, pod, testPodDir(t), claims)
	want[3] = "second -rw-rw---- 2000"
	assert.Deep(t, "Always", want, tree(t, path))
	info, err := os.Stat(outside)
	assert.True(t, err == nil && info.Mode() == 0o600, "the host's file behind the link: %v, %v", info.Mode(), err)
}
