package apiserver

import (
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifepod/lifepod/internal/assert"
)

// TestServiceExternalIPs: who may make Services can't take the addresses of nodes and of others
// over (CVE-2020-8554), unless the plugin that refuses it is disabled.
func TestServiceExternalIPs(t *testing.T) {
	place := startEtcd(t)
	service := &core.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Namespace: "default"},
		Spec:       core.ServiceSpec{ExternalIPs: []string{"192.0.2.1"}, Ports: []core.ServicePort{{Port: 6443}}},
	}
	for _, tt := range []struct {
		disabled []string
		want     string
	}{
		{nil, "forbidden: Use of external IPs is denied by admission control"},
		{[]string{"DenyServiceExternalIPs"}, ""},
	} {
		c := testConfig(t, place, "/registry")
		c.DisableAdmission = tt.disabled
		_, err := serve(t, c, New).CoreV1().Services("default").Create(t.Context(), service, metav1.CreateOptions{})
		assert.True(t, (err == nil) == (tt.want == "") && (err == nil || strings.Contains(err.Error(), tt.want)),
			"disabled %v: error %v, want %q", tt.disabled, err, tt.want)
	}
	c := testConfig(t, place, "/registry")
	c.DisableAdmission = []string{"DenyExternalIPs"}
	assert.ErrorContains(t, `disable-admission-plugins plugin "DenyExternalIPs" is unknown`, assert.ErrorOf(New(t.Context(), c)), "a plugin that there isn't")
}
