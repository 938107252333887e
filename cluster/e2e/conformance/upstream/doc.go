// Package upstream pins Kubernetes' own end-to-end tests and the programs that their
// images are made of. It is a module of its own, because nothing of lifepod is built
// with what they depend on.
package upstream

import (
	_ "k8s.io/kubernetes/test/e2e"      // as e2e.test, with the tests that it imports
	_ "k8s.io/kubernetes/test/e2e_node" // as e2e_node.test
)
