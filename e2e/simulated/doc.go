// Package simulated has the tests of what is simulated against a control plane: a
// kubelet on the runtime of lifepod sim serve, and the nodes of lifepod sim nodes and lifepodtest.
package simulated
