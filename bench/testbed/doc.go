// Package testbed is what lifepod agent and the kubelet are measured on: one
// containerd, one control plane, and a node of each, of which one runs at a time.
//
//	bed, err := testbed.Open(ctx, testbed.Config{Lifepod: "bin/lifepod", Log: log})
//	defer bed.Close()
//	err = bed.AddNodes(ctx, nil)
//	for _, side := range bed.Turns(0) {
//		err = side.Turn(ctx, func(ctx context.Context) error { … })
//	}
package testbed
