package nodeparts

import (
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/must"
	"github.com/lifepod/lifepod/worker/volumes"
)

func configMapVolume(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}}}
}

func newConfigMap(name, value string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": value}}
}

// TestAPIAccess: A-VOL-5, what every pod gets is complete, and the token says who the pod is.
func TestAPIAccess(t *testing.T) {
	n := newObjectsNode(t)
	pod := n.bind()
	began := time.Now()
	m, err := volumes.Prepare(t.Context(), pod, n.folder(pod), n.sources())
	must.Succeed(t, err)
	t.Logf("mounted in %v", time.Since(began))
	access := pod.Spec.Volumes[0].Name
	if !strings.HasPrefix(access, "kube-api-access-") {
		t.Fatalf("volume %s", access)
	}
	if got := n.read(m, access, "namespace"); got != n.namespace {
		t.Errorf("namespace %q", got)
	}
	if got := n.read(m, access, "ca.crt"); !strings.HasPrefix(got, "-----BEGIN CERTIFICATE-----") {
		t.Errorf("ca.crt %q", got)
	}
	review, err := n.admin.AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: n.read(m, access, "token")},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	if got, want := review.Status.User.Username, "system:serviceaccount:"+n.namespace+":default"; got != want {
		t.Errorf("the token is of %q (%s), want %q", got, review.Status.Error, want)
	}
	if got := review.Status.User.Extra["authentication.kubernetes.io/pod-uid"]; len(got) != 1 || got[0] != string(pod.UID) {
		t.Errorf("the token is bound to pod %v, want %s", got, pod.UID)
	}
}

// TestChanges: A-VOL-5, a pod that waits for a ConfigMap goes on as soon as it is
// there, and a change reaches its volume at once.
func TestChanges(t *testing.T) {
	n := newObjectsNode(t)
	pod := n.bind(configMapVolume("conf"))
	dir := n.folder(pod)
	_, err := volumes.Prepare(t.Context(), pod, dir, n.sources())
	want := `MountVolume.SetUp failed for volume "conf" : configmap "conf" not found`
	if err == nil || err.Error() != want {
		t.Fatalf("A-SYNC-8 error = %v\nwant %s", err, want)
	}
	configMaps := n.admin.CoreV1().ConfigMaps(n.namespace)
	if _, err := configMaps.Create(t.Context(), newConfigMap("conf", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.hears("ConfigMap conf is there")
	m, err := volumes.Prepare(t.Context(), pod, dir, n.sources())
	must.Succeed(t, err)
	began := time.Now()
	if _, err := configMaps.Update(t.Context(), newConfigMap("conf", "2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.hears("ConfigMap conf changed")
	must.Succeed(t, volumes.Refresh(t.Context(), pod, dir, n.sources()))
	if got := n.read(m, "conf", "a"); got != "2" {
		t.Errorf("a is %q, want 2", got)
	}
	t.Logf("from the change to the file: %v", time.Since(began))
}

// TestAPIServerAway: what is known stays known, and changes are heard when it is back.
func TestObjectsAPIServerAway(t *testing.T) {
	n := newObjectsNode(t)
	configMaps := n.admin.CoreV1().ConfigMaps(n.namespace)
	if _, err := configMaps.Create(t.Context(), newConfigMap("conf", "1"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := n.bind(configMapVolume("conf"))
	dir := n.folder(pod)
	m, err := volumes.Prepare(t.Context(), pod, dir, n.sources())
	must.Succeed(t, err)
	must.Succeed(t, plane.StopAPIServer())
	if err := volumes.Refresh(t.Context(), pod, dir, n.sources()); err != nil {
		t.Errorf("refresh while the API server is away: %v", err)
	}
	must.Succeed(t, plane.StartAPIServer(t.Context()))
	if _, err := configMaps.Update(t.Context(), newConfigMap("conf", "2"), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.hears("ConfigMap conf changed")
	must.Succeed(t, volumes.Refresh(t.Context(), pod, dir, n.sources()))
	if got := n.read(m, "conf", "a"); got != "2" {
		t.Errorf("a is %q, want 2", got)
	}
}

// TestLocalClaim: a claim that the control plane has bound to a local volume.
func TestLocalClaim(t *testing.T) {
	n := newObjectsNode(t)
	disk := t.TempDir()
	size := v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce}
	bound, err := n.admin.CoreV1().PersistentVolumes().Create(t.Context(), &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "local-"},
		Spec: v1.PersistentVolumeSpec{
			Capacity: size, AccessModes: modes, StorageClassName: n.namespace,
			PersistentVolumeSource: v1.PersistentVolumeSource{Local: &v1.LocalVolumeSource{Path: disk}},
			NodeAffinity: &v1.VolumeNodeAffinity{Required: &v1.NodeSelector{NodeSelectorTerms: []v1.NodeSelectorTerm{{
				MatchExpressions: []v1.NodeSelectorRequirement{{Key: v1.LabelHostname, Operator: v1.NodeSelectorOpIn, Values: []string{nodeName}}},
			}}}},
		},
	}, metav1.CreateOptions{})
	must.Succeed(t, err)
	pod := n.bind(v1.Volume{Name: "data", VolumeSource: v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}}})
	dir := n.folder(pod)
	n.await("a claim that is missing", func() error {
		return n.refused(pod, dir, `failed to fetch PVC from API server: persistentvolumeclaims "data" not found`)
	})
	claim := &v1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: v1.PersistentVolumeClaimSpec{
		StorageClassName: &n.namespace, AccessModes: modes, Resources: v1.VolumeResourceRequirements{Requests: size},
	}}
	if _, err := n.admin.CoreV1().PersistentVolumeClaims(n.namespace).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var m volumes.Mounted
	n.await("a claim that is bound", func() (err error) {
		m, err = volumes.Prepare(t.Context(), pod, dir, n.sources())
		return err
	})
	if path, _ := m.Path("data"); !strings.HasSuffix(path, "/volumes/kubernetes.io~local-volume/"+bound.Name) {
		t.Errorf("A-VOL-1 path %s", path)
	}
}

// TestTrustBundles: by name, by signer, and changed meanwhile.
func TestTrustBundles(t *testing.T) {
	plane.Needs(t, "ClusterTrustBundle")
	n := newObjectsNode(t)
	bundle := &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: "example.com:signer:" + n.namespace, Labels: map[string]string{"use": n.namespace}},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: "example.com/signer", TrustBundle: n.rootCertificate()},
	}
	projection := v1.ClusterTrustBundleProjection{
		SignerName: new("example.com/signer"), LabelSelector: &metav1.LabelSelector{MatchLabels: bundle.Labels}, Path: "anchors.pem",
	}
	pod := n.bind(v1.Volume{Name: "trust", VolumeSource: v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{ClusterTrustBundle: &projection}}}}})
	dir := n.folder(pod)
	n.await("no bundle", func() error {
		return n.refused(pod, dir, "combination of signerName and labelSelector matched zero ClusterTrustBundles")
	})
	if _, err := n.admin.CertificatesV1().ClusterTrustBundles().Create(t.Context(), bundle, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	n.hears("ClusterTrustBundles changed")
	m, err := volumes.Prepare(t.Context(), pod, dir, n.sources())
	must.Succeed(t, err)
	if got := n.read(m, "trust", "anchors.pem"); got != bundle.Spec.TrustBundle {
		t.Errorf("anchors %q, want %q", got, bundle.Spec.TrustBundle)
	}
}

// TestForbidden: what no pod of the node uses is refused, and the pod's event says why.
func TestForbidden(t *testing.T) {
	n := newObjectsNode(t)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "nobody", UID: "nobody"}}
	pod.Spec.Volumes = []v1.Volume{configMapVolume("conf")}
	pod.Spec.Containers = []v1.Container{{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/conf"}}}}
	n.Register(pod)
	want := `MountVolume.SetUp failed for volume "conf" : failed to sync configmap cache: configmaps "conf" is forbidden: User "system:node:node-1" cannot list resource "configmaps"`
	if err := n.refused(pod, n.folder(pod), want); err != nil {
		t.Error(err)
	}
}
