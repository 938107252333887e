package criconfig

import (
	"fmt"
	"strings"

	"gopkg.in/inf.v0"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// resource reads a resourceFieldRef (A-ENV-8): the quantity divided by the
// divisor, rounded up. A limit that the container does not set is the pod's,
// else what the node can allocate; a request that is not set is 0.
func (b *builder) resource(ref *v1.ResourceFieldSelector) (string, error) {
	container, err := b.containerNamed(ref.ContainerName)
	if err != nil {
		return "", err
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	if !supportedResource(v1.ResourceName(name)) {
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	var quantity resource.Quantity
	switch kind {
	case "requests":
		quantity = container.Resources.Requests[v1.ResourceName(name)]
	case "limits":
		quantity = b.limit(container, v1.ResourceName(name))
	default:
		return "", fmt.Errorf("unsupported container resource : %v", ref.Resource)
	}
	return divideUp(quantity, ref.Divisor), nil
}

func (b *builder) containerNamed(name string) (*v1.Container, error) {
	if name == "" || name == b.Container.Name {
		return b.Container, nil
	}
	for _, list := range [][]v1.Container{b.Pod.Spec.Containers, b.Pod.Spec.InitContainers} {
		for i := range list {
			if list[i].Name == name {
				return &list[i], nil
			}
		}
	}
	return nil, fmt.Errorf("container %s not found", name)
}

// limit is a container's limit with its defaults. Hugepages have none: they are
// never overcommitted, so a container that may use them says so. Ephemeral
// storage has no pod-level limit.
func (b *builder) limit(container *v1.Container, name v1.ResourceName) resource.Quantity {
	if own := container.Resources.Limits[name]; !own.IsZero() || isHugePages(name) {
		return own
	}
	if pod := b.Pod.Spec.Resources; pod != nil && name != v1.ResourceEphemeralStorage {
		if limit := pod.Limits[name]; !limit.IsZero() {
			return limit
		}
	}
	return b.Allocatable[name]
}

func supportedResource(name v1.ResourceName) bool {
	switch name {
	case v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage:
		return true
	}
	return isHugePages(name)
}

func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}

// divideUp divides exactly, so that values above 2^53 come out right.
func divideUp(quantity, divisor resource.Quantity) string {
	if divisor.IsZero() {
		divisor = *resource.NewQuantity(1, resource.DecimalSI)
	}
	return new(inf.Dec).QuoRound(quantity.AsDec(), divisor.AsDec(), 0, inf.RoundCeil).String()
}
