package nodeparts

import (
	"testing"

	"github.com/lifepod/lifepod/e2e/controlplane"
)

// plane is the control plane of all tests; one that stops its API server runs when no other does.
var plane *controlplane.ControlPlane

func TestMain(m *testing.M) { controlplane.Main(m, &plane) }
