package objects

import (
	"encoding/pem"
	"testing"
	"testing/synctest"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

func certificate(content string) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte(content)}))
}

func newBundle(name, signer, use, content string) *certificatesv1.ClusterTrustBundle {
	return &certificatesv1.ClusterTrustBundle{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"use": use}},
		Spec:       certificatesv1.ClusterTrustBundleSpec{SignerName: signer, TrustBundle: content},
	}
}

func inTrustBundle(p v1.ClusterTrustBundleProjection) v1.VolumeSource {
	return v1.VolumeSource{Projected: &v1.ProjectedVolumeSource{Sources: []v1.VolumeProjection{{ClusterTrustBundle: &p}}}}
}

func TestTrustAnchors(t *testing.T) {
	live := &metav1.LabelSelector{MatchLabels: map[string]string{"use": "live"}}
	tests := []struct {
		name       string
		projection v1.ClusterTrustBundleProjection
		want       string // or the error
	}{
		{"by name", v1.ClusterTrustBundleProjection{Name: new("one")}, certificate("A") + certificate("B")},
		{"no such name", v1.ClusterTrustBundleProjection{Name: new("none")}, `while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found`},
		{"no such name, optional", v1.ClusterTrustBundleProjection{Name: new("none"), Optional: new(true)}, ""},
		{"by signer and labels, each once", v1.ClusterTrustBundleProjection{SignerName: new("s"), LabelSelector: live}, certificate("A") + certificate("B") + certificate("C")},
		{"no selector selects nothing", v1.ClusterTrustBundleProjection{SignerName: new("s")}, "combination of signerName and labelSelector matched zero ClusterTrustBundles"},
		{"an empty one everything", v1.ClusterTrustBundleProjection{SignerName: new("t"), LabelSelector: &metav1.LabelSelector{}}, certificate("E")},
		{"neither", v1.ClusterTrustBundleProjection{}, "ClusterTrustBundle projection requires either name or signerName to be set"},
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, newBundle("one", "s", "live", certificate("B")+"text\n"+certificate("A")), newBundle("two", "s", "live", certificate("C")+certificate("A")),
			newBundle("three", "s", "old", certificate("D")), newBundle("four", "t", "live", certificate("E")))
		w.Register(newPod("p1", inTrustBundle(v1.ClusterTrustBundleProjection{})))
		for _, tc := range tests {
			got, err := w.TrustAnchors(t.Context(), &tc.projection)
			assert.Deep(t, tc.name, tc.want, string(got)+text(err))
		}
	})
}

// TestTrustBundlesChange: pods that use any hear of it; the watch lives no longer than they.
func TestTrustBundlesChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		byName := v1.ClusterTrustBundleProjection{Name: new("one")}
		w.Register(newPod("p1", inTrustBundle(byName)))
		w.Register(newPod("p2"))
		synctest.Wait()
		assert.Must(t, assert.ErrorOf(w.client.CertificatesV1().ClusterTrustBundles().Update(t.Context(), newBundle("one", "", "", certificate("B")), metav1.UpdateOptions{})))
		synctest.Wait()
		assert.Deep(t, "told", []string{"p1: ClusterTrustBundles changed"}, w.hears())
		got, err := w.TrustAnchors(t.Context(), &byName)
		assert.True(t, err == nil && string(got) == certificate("B"), "anchors %q, %v", got, err)
		w.Unregister("p1")
		synctest.Wait()
		_, open := w.opened()
		assert.True(t, open == 0, "%d open watches", open)
	}, newBundle("one", "", "", certificate("A")))
}
