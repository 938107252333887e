package volumes

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/lifepod/lifepod/internal/assert"
)

// api is an API server for volumes.
type api struct {
	token     string
	anchors   string
	issued    Credentials
	volumes   map[string]*v1.PersistentVolume // by claim
	err       error
	elsewhere error
}

func (a api) Token(_ context.Context, pod *v1.Pod, p *v1.ServiceAccountTokenProjection) (string, error) {
	return a.token + " for " + pod.Name + " to " + p.Audience, a.err
}

func (a api) TrustAnchors(context.Context, *v1.ClusterTrustBundleProjection) ([]byte, error) {
	return []byte(a.anchors), a.err
}

func (a api) PodCertificate(context.Context, *v1.Pod, *v1.Volume, int) (Credentials, error) {
	return a.issued, a.err
}

func (a api) PersistentVolume(_ context.Context, pod *v1.Pod, v *v1.Volume) (*v1.PersistentVolume, error) {
	name := pod.Name + "-" + v.Name
	if v.PersistentVolumeClaim != nil {
		name = v.PersistentVolumeClaim.ClaimName
	}
	if a.err != nil {
		return nil, a.err
	}
	if bound := a.volumes[name]; bound != nil {
		return bound, nil
	}
	return nil, errors.New("error processing PVC ns/" + name + ": PVC is not bound")
}

func (a api) Migrated(_ *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error) {
	return a.volumes[volume.Name], a.err
}

func (a api) Reachable(*v1.PersistentVolume) error { return a.elsewhere }

// apiAccess is the volume that the API server adds to every pod.
func apiAccess() v1.Volume {
	return projectedVolume(ptr.To[int32](0o644),
		v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: ptr.To[int64](3607)}},
		v1.VolumeProjection{ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []v1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		v1.VolumeProjection{DownwardAPI: &v1.DownwardAPIProjection{Items: []v1.DownwardAPIVolumeFile{fieldFile("namespace", "metadata.namespace")}}},
	)
}

// TestAPIAccess: A-VOL-5, the token is for everyone only if nobody says who the
// containers run as.
func TestAPIAccess(t *testing.T) {
	root := map[string]*v1.ConfigMap{"kube-root-ca.crt": {Data: map[string]string{"ca.crt": "CA"}}}
	for _, tc := range []struct {
		name    string
		context *v1.PodSecurityContext
		token   string
	}{
		{"plain", nil, "-rw-r--r-- 0 0"},
		{"fsGroup", &v1.PodSecurityContext{FSGroup: ptr.To[int64](2000)}, "-rw-r----- 0 2000"},
		{"runAsUser", &v1.PodSecurityContext{RunAsUser: ptr.To[int64](1000)}, "-rw------- 1000 0"},
		{"both", &v1.PodSecurityContext{RunAsUser: ptr.To[int64](1000), FSGroup: ptr.To[int64](2000)}, "-rw-r----- 1000 2000"},
	} {
		t.Run("A-VOL-5 "+tc.name, func(t *testing.T) {
			pod := podWith(apiAccess())
			pod.Spec.SecurityContext = tc.context
			m := assert.Get(Prepare(t.Context(), pod, testPodDir(t), Sources{Objects: objects{configMaps: root}, API: api{token: "secret"}})).Must(t)
			path, _ := m.Path("all")
			want := map[string]string{"token": "secret for web to ", "ca.crt": "CA", "namespace": "ns"}
			assert.Deep(t, "", want, contents(t, path, "token", "ca.crt", "namespace"))
			assert.Equal(t, tc.token, owners(t, filepath.Join(path, "token")), "token")
		})
	}
}

func TestTokenIsRefreshed(t *testing.T) {
	pod, dir := podWith(projectedVolume(nil,
		v1.VolumeProjection{ServiceAccountToken: &v1.ServiceAccountTokenProjection{Path: "token", Audience: "vault"}},
		v1.VolumeProjection{ClusterTrustBundle: &v1.ClusterTrustBundleProjection{Path: "anchors.pem"}},
	)), testPodDir(t)
	m := assert.Get(Prepare(t.Context(), pod, dir, Sources{API: api{token: "first", anchors: "A"}})).Must(t)
	path, _ := m.Path("all")
	assert.Deep(t, "", map[string]string{"token": "first for web to vault", "anchors.pem": "A"}, contents(t, path, "token", "anchors.pem"))
	assert.Must(t, Refresh(t.Context(), pod, dir, Sources{API: api{token: "second", anchors: "B"}}))
	assert.Deep(t, "after a refresh", map[string]string{"token": "second for web to vault", "anchors.pem": "B"}, contents(t, path, "token", "anchors.pem"))
}

// TestVolumesAreKept: while the API server is away, volumes that were complete
// stay as they are; others wait for it.
func TestVolumesAreKept(t *testing.T) {
	o := objects{
		configMaps: map[string]*v1.ConfigMap{"conf": {Data: map[string]string{"a": "1"}}, "kube-root-ca.crt": {Data: map[string]string{"ca.crt": "CA"}}},
		secrets:    map[string]*v1.Secret{"cred": {Data: map[string][]byte{"k": []byte("s")}}},
	}
	pod, dir := podWith(configMapVolume("conf", v1.ConfigMapVolumeSource{}), secretVolume("cred", v1.SecretVolumeSource{}), apiAccess()), testPodDir(t)
	assert.Must(t, assert.ErrorOf(Prepare(t.Context(), pod, dir, Sources{Objects: o, API: api{token: "first"}})))
	away := errors.New("connection refused")
	gone := Sources{Objects: unreachable{away}, API: api{err: away}}
	m, err := Prepare(t.Context(), pod, dir, gone) // by a lifepod that came after
	assert.Must(t, err)
	for volume, want := range map[string]map[string]string{
		"conf": {"a": "1"}, "cred": {"k": "s"}, "all": {"token": "first for web to ", "ca.crt": "CA", "namespace": "ns"},
	} {
		path, _ := m.Path(volume)
		assert.Deep(t, volume, want, contents(t, path, slices.Collect(maps.Keys(want))...))
	}
	_, err = Prepare(t.Context(), pod, testPodDir(t), gone)
	want := `MountVolume.SetUp failed for volume "conf" : connection refused
MountVolume.SetUp failed for volume "cred" : connection refused
MountVolume.SetUp failed for volume "all" : connection refused`
	assert.Error(t, want, err, "A-SYNC-8 a new pod")
	_, err = Prepare(t.Context(), pod, dir, Sources{Objects: objects{}, API: api{err: away}})
	assert.ErrorContains(t, `configmaps "conf" not found`, err, "an object that is known to be gone")
}

// unreachable is an API server that does not answer.
type unreachable struct{ err error }

func (u unreachable) ConfigMap(string, string) (*v1.ConfigMap, error) { return nil, u.err }

func (u unreachable) Secret(string, string) (*v1.Secret, error) { return nil, u.err }

// podCertificate is a volume with a certificate in each of the three files that it may have.
func podCertificate() v1.Volume {
	return projectedVolume(ptr.To[int32](0o440), v1.VolumeProjection{PodCertificate: &v1.PodCertificateProjection{
		CredentialBundlePath: "both.pem", KeyPath: "tls/key.pem", CertificateChainPath: "tls/chain.pem",
	}})
}

func TestPodCertificate(t *testing.T) {
	for name, test := range map[string]struct {
		context *v1.PodSecurityContext
		mode    string
	}{
		"plain":     {nil, "-r--r----- 0 0"},
		"fsGroup":   {&v1.PodSecurityContext{FSGroup: ptr.To[int64](2000)}, "-rw-r----- 0 2000"},
		"runAsUser": {&v1.PodSecurityContext{RunAsUser: ptr.To[int64](1000)}, "-rw------- 1000 0"},
	} {
		t.Run(name, func(t *testing.T) {
			pod := podWith(podCertificate())
			pod.Spec.SecurityContext = test.context
			m := assert.Get(Prepare(t.Context(), pod, testPodDir(t), Sources{API: api{issued: Credentials{Key: []byte("KEY"), Chain: []byte("CHAIN")}}})).Must(t)
			path, _ := m.Path("all")
			want := map[string]string{"both.pem": "KEYCHAIN", "tls/key.pem": "KEY", "tls/chain.pem": "CHAIN"}
			assert.Deep(t, "A-CERT-2", want, contents(t, path, slices.Collect(maps.Keys(want))...))
			for file := range want {
				assert.Equal(t, test.mode, owners(t, filepath.Join(path, file)), "A-CERT-2 %s", file)
			}
		})
	}
}

// TestCertificateOfBefore: what a volume shows stays while the next certificate is awaited,
// but a pod does not start with it once its signer has refused.
func TestCertificateOfBefore(t *testing.T) {
	pod, dir := podWith(podCertificate()), testPodDir(t)
	waiting := api{err: errors.New("credential bundle is not issued yet")}
	_, err := Prepare(t.Context(), pod, dir, Sources{API: waiting})
	want := `MountVolume.SetUp failed for volume "all" : credential bundle is not issued yet`
	assert.True(t, err != nil && err.Error() == want, "A-CERT-2 error = %v, want %s", err, want)
	assert.Must(t, assert.ErrorOf(Prepare(t.Context(), pod, dir, Sources{API: api{issued: Credentials{Key: []byte("KEY")}}})))
	m, err := Prepare(t.Context(), pod, dir, Sources{API: waiting})
	assert.Require(t, err == nil, "A-CERT-3 after a restart of the agent: %v", err)
	path, _ := m.Path("all")
	_, err = Prepare(t.Context(), pod, dir, Sources{API: api{err: &RefusedError{Why: "denied"}}})
	want = `MountVolume.SetUp failed for volume "all" : denied`
	assert.True(t, err != nil && err.Error() == want, "A-CERT-5 error = %v, want %s", err, want)
	assert.Equal(t, "KEY", contents(t, path, "both.pem")["both.pem"], "A-CERT-5 containers see")
}

// TestEmptySource: A-VOL-5, an API server has left out what it does not know.
func TestEmptySource(t *testing.T) {
	known := objects{configMaps: map[string]*v1.ConfigMap{"known": {Data: map[string]string{"file": "text"}}}}
	for name, sources := range map[string]Sources{"of the API": {Objects: known, API: api{}}, "without a cluster": {Objects: known}} {
		t.Run(name, func(t *testing.T) {
			pod := podWith(projectedVolume(nil, v1.VolumeProjection{}, v1.VolumeProjection{
				ConfigMap: &v1.ConfigMapProjection{LocalObjectReference: v1.LocalObjectReference{Name: "known"}},
			}))
			m := assert.Get(Prepare(t.Context(), pod, testPodDir(t), sources)).Must(t)
			path, _ := m.Path("all")
			text, err := os.ReadFile(filepath.Join(path, "file"))
			assert.True(t, err == nil && string(text) == "text", "A-VOL-5: the other source has %q, %v", text, err)
		})
	}
}

// TestTakesOverFromAKubelet: volumes that a kubelet has made are brought up to
// date where they are, in view of containers that run.
func TestTakesOverFromAKubelet(t *testing.T) {
	dir := testPodDir(t)
	root := map[string]*v1.ConfigMap{"kube-root-ca.crt": {Data: map[string]string{"ca.crt": "CA"}}}
	pod := podWith(apiAccess(), emptyDirVolume("cache"))
	path := filepath.Join(dir, "volumes/kubernetes.io~projected/all")
	ready := filepath.Join(dir, "plugins/kubernetes.io~empty-dir/wrapped_all/ready")
	mountTmpfs(t, path)
	for name, content := range map[string]string{
		ready: "", filepath.Join(path, "..2026_01_02_03_04_05.123/token"): "old", filepath.Join(path, "..2026_01_02_03_04_05.123/ca.crt"): "CA",
		filepath.Join(path, "..2026_01_02_03_04_05.123/namespace"): "ns", filepath.Join(dir, "volumes/kubernetes.io~empty-dir/cache/data"): "kept",
	} {
		assert.Must(t, errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(content), 0o644)))
	}
	for link, target := range map[string]string{"..data": "..2026_01_02_03_04_05.123", "token": "..data/token", "ca.crt": "..data/ca.crt", "namespace": "..data/namespace"} {
		assert.Must(t, os.Symlink(target, filepath.Join(path, link)))
	}
	seen := assert.Get(os.OpenRoot(path)).Must(t) // as a container's mount
	defer func() { _ = seen.Close() }()
	before := mountPoints(t, dir)
	m := assert.Get(Prepare(t.Context(), pod, dir, Sources{Objects: objects{configMaps: root}, API: api{token: "new"}})).Must(t)
	got, err := seen.ReadFile("token")
	assert.True(t, err == nil && string(got) == "new for web to ", "a container sees %q, %v", got, err)
	if got := mountPoints(t, dir); got != before {
		t.Errorf("%d mounts, want the %d of before", got, before)
	}
	cache, _ := m.Path("cache")
	assert.Equal(t, "kept", contents(t, cache, "data")["data"], "emptyDir")
}
