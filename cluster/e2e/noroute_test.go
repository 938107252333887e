package e2e

import (
	"strings"
	"testing"

	"github.com/vishvananda/netlink"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
	"github.com/lifepod/lifepod/e2e/cable"
	"github.com/lifepod/lifepod/internal/assert"
)

// On a machine without a default route pods run, and find the API server and DNS.
func TestWithoutDefaultRoute(t *testing.T) {
	t.Parallel()
	other := cable.New(t, "lpnoroute0", "198.18.79.1", "198.18.79.2")
	assert.Must(t, other.Within(func() error { return netlink.RouteDel(&netlink.Route{Gw: []byte{198, 18, 79, 1}}) }))
	i := ownInstance(t, instance.Config{Within: other.Within})
	assert.True(t, strings.Contains(i.Log(), "this machine has no default route"), "it does not say that there is no default route")
	const script = `set -e; lookup kubernetes.default.svc.cluster.local; dial kubernetes.default.svc:443; exec sleep --on-term 0 1h`
	do(t, i, podOf("pod", podSpec(script, "restartPolicy: Never")), "apply", "-f", "-")
	do(t, i, "", "wait", "pod/pod", "--for=condition=Ready", "--timeout="+patience.String())
	assert.Deep(t, "the pod does not reach the API server", "", do(t, i, "", "exec", "pod", "--", "dial", "kubernetes.default.svc:443"))
}
