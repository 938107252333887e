package nodeparts

import (
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
	"github.com/lifepod/lifepod/worker/volumes"
)

func configMapVolume(name string) v1.Volume {
	return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}}}}
}

func newConfigMap(name, value string) *v1.ConfigMap {
	return &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"a": value}}
}

// TestAPIServerAway: what is known stays known, and changes are heard when it is back.
func TestObjectsAPIServerAway(t *testing.T) {
	n := newObjectsNode(t)
	configMaps := n.admin.CoreV1().ConfigMaps(n.namespace)
	assert.Must(t, assert.ErrorOf(configMaps.Create(t.Context(), newConfigMap("conf", "1"), metav1.CreateOptions{})))
	pod := n.bind(configMapVolume("conf"))
	dir := n.folder(pod)
	m := assert.Get(volumes.Prepare(t.Context(), pod, dir, n.sources())).Must(t)
	assert.Must(t, plane.StopAPIServer())
	assert.NoError(t, volumes.Refresh(t.Context(), pod, dir, n.sources()), "refresh while the API server is away")
	assert.Must(t, plane.StartAPIServer(t.Context()))
	assert.Must(t, assert.ErrorOf(configMaps.Update(t.Context(), newConfigMap("conf", "2"), metav1.UpdateOptions{})))
	n.hears("ConfigMap conf changed")
	assert.Must(t, volumes.Refresh(t.Context(), pod, dir, n.sources()))
	assert.Deep(t, "a is", "2", n.read(m, "conf", "a"))
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
	assert.Must(t, assert.ErrorOf(n.admin.CertificatesV1().ClusterTrustBundles().Create(t.Context(), bundle, metav1.CreateOptions{})))
	n.hears("ClusterTrustBundles changed")
	m := assert.Get(volumes.Prepare(t.Context(), pod, dir, n.sources())).Must(t)
	assert.Deep(t, "anchors", bundle.Spec.TrustBundle, n.read(m, "trust", "anchors.pem"))
}

// TestForbidden: what no pod of the node uses is refused, and the pod's event says why.
func TestForbidden(t *testing.T) {
	n := newObjectsNode(t)
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: n.namespace, Name: "nobody", UID: "nobody"}}
	pod.Spec.Volumes = []v1.Volume{configMapVolume("conf")}
	pod.Spec.Containers = []v1.Container{{Name: "main", VolumeMounts: []v1.VolumeMount{{Name: "conf", MountPath: "/conf"}}}}
	n.Register(pod)
	want := `MountVolume.SetUp failed for volume "conf" : failed to sync configmap cache: configmaps "conf" is forbidden: User "system:node:node-1" cannot list resource "configmaps"`
	assert.NoError(t, n.refused(pod, n.folder(pod), want))
}
