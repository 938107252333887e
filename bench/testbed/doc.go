// Package testbed is what lifepod agent and the kubelet are measured on: they share one
// containerd and one control plane. Each has a node, and only one of the two runs at a time.
//
//	bed, err := testbed.Open(ctx, testbed.Config{Lifepod: "bin/lifepod", Log: log})
//	defer bed.Close()
//	err = bed.AddNodes(ctx, nil)
//	for _, side := range bed.Order(0) {
//		err = side.Turn(ctx, func(ctx context.Context) error { … })
//	}
package testbed
