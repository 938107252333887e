// Package member runs nodes of a test cluster: lifepod agent, or the kubelet to
// compare it with, as a process that joins the control plane of package
// controlplane. Several members fit on one machine: each has a state folder and
// ports of its own.
//
//	m, err := member.Start(ctx, member.Config{Plane: plane, Program: lifepod})
//	defer m.Close()
//	err = m.AwaitReady(ctx)
//
// Close removes what was left on the machine, and is an error if that was more
// than a node may leave.
package member
