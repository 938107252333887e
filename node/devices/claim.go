package devices

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// Claim is what is kept of a claim that is prepared, or is to be, under the names that the
// kubelet's file has.
type Claim struct {
	ClaimUID  types.UID
	ClaimName string
	Namespace string
	// PodUIDs are the pods that use it.
	PodUIDs sets.Set[string]
	// DriverState has each driver that has a part in the claim, with its devices once they
	// are prepared.
	DriverState map[string]DriverState
}

// DriverState is what a driver has prepared of a claim.
type DriverState struct{ Devices []ClaimedDevice }

// ClaimedDevice is a prepared device in a driver's words.
type ClaimedDevice struct {
	PoolName     string
	DeviceName   string
	ShareID      *types.UID
	RequestNames []string // the requests of the claim that it is for; empty: all
	CDIDeviceIDs []string
}

func (c Claim) key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.ClaimName}
}

// clone is a copy that later changes do not reach; a driver's devices are only replaced.
func (c Claim) clone() Claim {
	c.PodUIDs, c.DriverState = c.PodUIDs.Clone(), maps.Clone(c.DriverState)
	return c
}

// devices are those of a request, or of all of them if it is empty, in the order of the
// drivers' names. A request may name one of several alternatives of a request (A-DRA-7).
func (c Claim) devices(request string) (all []ClaimedDevice) {
	for _, name := range slices.Sorted(maps.Keys(c.DriverState)) {
		for _, device := range c.DriverState[name].Devices {
			if isFor(device, request) {
				all = append(all, device)
			}
		}
	}
	return all
}

func isFor(device ClaimedDevice, request string) bool {
	return request == "" || len(device.RequestNames) == 0 || slices.Contains(device.RequestNames, resourceclaim.BaseRequestRef(request))
}

// driversOf are the drivers that have a part in any of the claims, in order.
func driversOf(claims []Claim) []string {
	names := sets.New[string]()
	for _, c := range claims {
		names = names.Union(sets.KeySet(c.DriverState))
	}
	return sets.List(names)
}

// withDriver are the claims that a driver has a part in.
func withDriver(claims []Claim, driver string) []Claim {
	return slices.DeleteFunc(slices.Clone(claims), func(c Claim) bool {
		_, has := c.DriverState[driver]
		return !has
	})
}

// keysOf are the names of claims, each once and in their order.
func keysOf(claims []Claim) []types.NamespacedName {
	keys := make([]types.NamespacedName, 0, len(claims))
	for _, c := range claims {
		keys = append(keys, c.key())
	}
	slices.SortFunc(keys, func(a, b types.NamespacedName) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return slices.Compact(keys)
}
