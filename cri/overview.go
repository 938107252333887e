package cri

import (
	"context"
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Overview is a number for each pod that the runtime has something of. It differs
// from an earlier one once a sandbox or container has come, has gone, or is in
// another state. It takes two calls, however many pods there are.
type Overview map[types.UID]uint64

// Overlook makes an Overview.
func Overlook(ctx context.Context, runtime runtimeapi.RuntimeServiceClient) (Overview, error) {
	sandboxes, err := runtime.ListPodSandbox(ctx, &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		return nil, fmt.Errorf("list all sandboxes: %w", err)
	}
	containers, err := runtime.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
	if err != nil {
		return nil, fmt.Errorf("list all containers: %w", err)
	}
	o := Overview{}
	for _, s := range sandboxes.GetItems() {
		o.add(s.GetLabels(), s.GetId(), int32(s.GetState()))
	}
	for _, c := range containers.GetContainers() {
		o.add(c.GetLabels(), c.GetId(), int32(c.GetState()))
	}
	return o, nil
}

// add counts one in. The sum is the same in whatever order they are listed.
func (o Overview) add(labels map[string]string, id string, state int32) {
	digest := fnv.New64a()
	_, _ = fmt.Fprintf(digest, "%s %d", id, state) // it never fails
	o[types.UID(labels[PodUIDLabel])] += digest.Sum64()
}
