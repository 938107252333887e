// Package upstream pins critest, the Kubernetes project's validation of container runtimes. It is a
// module of its own, because nothing of lifepod is built with what that depends on.
package upstream

import (
	_ "sigs.k8s.io/cri-tools/pkg/benchmark"
	_ "sigs.k8s.io/cri-tools/pkg/validate" // as the test program sigs.k8s.io/cri-tools/cmd/critest
)
