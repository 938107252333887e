package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lifepod/lifepod/internal/assert"
)

// All stable and beta versions of the API are served, and kubectl is of the same
// version as the server.
func TestAPI(t *testing.T) {
	t.Parallel()
	s := newSpace(t, nil)
	var version struct {
		ClientVersion, ServerVersion struct{ GitVersion string }
	}
	assert.Must(t, json.Unmarshal([]byte(s.kubectl("version", "-o", "json")), &version))
	client, server := version.ClientVersion.GitVersion, version.ServerVersion.GitVersion
	assert.True(t, client == server && strings.HasPrefix(server, "v1.37.2"), "kubectl is %s, the server %s, want both v1.37.2", client, server)
	got := strings.Fields(s.kubectl("api-versions"))
	got = slices.DeleteFunc(got, func(version string) bool {
		return strings.Contains(version, "e2e.lifepod.dev") || strings.HasPrefix(version, "metrics.k8s.io")
	}) // other tests'
	slices.Sort(got)
	assert.Deep(t, "versions of the API", strings.Fields(apiVersions), got)
	got = strings.Fields(s.kubectl("get", "componentstatuses", "etcd-0", "--no-headers"))
	assert.True(t, len(got) >= 2 && got[1] == "Healthy", "component etcd: %s, want it healthy", got)
	assert.Deep(t, "readyz", "ok", s.kubectl("get", "--raw", "/readyz"))
}

// apiVersions are those of 1.37 that are not alpha. The API of volume snapshots is added.
const apiVersions = `
admissionregistration.k8s.io/v1 admissionregistration.k8s.io/v1beta1
apiextensions.k8s.io/v1
apiregistration.k8s.io/v1
apps/v1
authentication.k8s.io/v1
authorization.k8s.io/v1
autoscaling/v1 autoscaling/v2
batch/v1
certificates.k8s.io/v1 certificates.k8s.io/v1beta1
coordination.k8s.io/v1 coordination.k8s.io/v1beta1
discovery.k8s.io/v1
events.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1
networking.k8s.io/v1
node.k8s.io/v1
policy/v1
rbac.authorization.k8s.io/v1
resource.k8s.io/v1 resource.k8s.io/v1beta1 resource.k8s.io/v1beta2
scheduling.k8s.io/v1
snapshot.storage.k8s.io/v1
storage.k8s.io/v1
storagemigration.k8s.io/v1 storagemigration.k8s.io/v1beta1
v1
`
