package devices

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
)

// readTimeout is how long the API server may take to tell of a claim.
const readTimeout = 30 * time.Second

// claimsOf are a pod's claims, with the one that the scheduler made for its extended
// resources (A-DRA-1).
func claimsOf(pod *v1.Pod) []v1.PodResourceClaim {
	claims := slices.Clip(pod.Spec.ResourceClaims)
	if made := pod.Status.ExtendedResourceClaimStatus; made != nil {
		claims = append(claims, v1.PodResourceClaim{ResourceClaimName: &made.ResourceClaimName})
	}
	return claims
}

// wantedBy reads the claims of a pod from the API server, and checks that the pod may use
// them and that their drivers are there: nothing is remembered of a pod for which they are
// not, so that its end asks nobody (A-DRA-3).
func (c *Claims) wantedBy(ctx context.Context, pod *v1.Pod) ([]Claim, error) {
	var wanted []Claim
	claims := claimsOf(pod)
	for i := range claims {
		name, made, err := resourceclaim.Name(pod, &claims[i])
		if err != nil {
			return nil, err
		}
		if name == nil { // none was needed
			continue
		}
		object, err := c.read(ctx, pod.Namespace, *name)
		if err != nil {
			return nil, fmt.Errorf("fetch ResourceClaim %s: %w", *name, err)
		}
		claim, err := usable(pod, object, made)
		if err != nil {
			return nil, err
		}
		for driver := range claim.DriverState {
			if _, err := c.drivers.named(driver); err != nil {
				return nil, err
			}
		}
		wanted = append(wanted, claim)
	}
	return wanted, nil
}

func (c *Claims) read(ctx context.Context, namespace, name string) (*resourceapi.ResourceClaim, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return c.client.ResourceV1().ResourceClaims(namespace).Get(ctx, name, metav1.GetOptions{})
}

// usable is what to keep of a claim that the pod may use.
func usable(pod *v1.Pod, object *resourceapi.ResourceClaim, made bool) (Claim, error) {
	if made {
		if err := resourceclaim.IsForPod(pod, object, false); err != nil {
			return Claim{}, err
		}
	}
	if !resourceclaim.IsReservedForPod(pod, object, false) {
		return Claim{}, fmt.Errorf("pod %s (%s) is not allowed to use ResourceClaim %s (%s)", pod.Name, pod.UID, object.Name, object.UID)
	}
	if object.Status.Allocation == nil {
		return Claim{}, fmt.Errorf("ResourceClaim %s: %w", object.Name, errors.New("not allocated"))
	}
	if skipsNode(object.Status.Allocation.Devices.Results) {
		return Claim{}, fmt.Errorf("ResourceClaim %s: %w", object.Name, errors.New("DRAOptionalNodeOperations feature gate is disabled on kubelet"))
	}
	claim := Claim{
		ClaimUID: object.UID, ClaimName: object.Name, Namespace: object.Namespace,
		PodUIDs: sets.New[string](), DriverState: map[string]DriverState{},
	}
	for _, result := range object.Status.Allocation.Devices.Results {
		claim.DriverState[result.Driver] = DriverState{}
	}
	return claim, nil
}

// skipsNode says whether a driver is not to be called for a claim: all its devices say so of an
// operation (A-DRA-3).
func skipsNode(results []resourceapi.DeviceRequestAllocationResult) bool {
	byDriver := map[string][][]resourceapi.SkipNodeOperation{}
	for _, result := range results {
		byDriver[result.Driver] = append(byDriver[result.Driver], result.SkipNodeOperations)
	}
	for _, ofDevices := range byDriver {
		for _, operation := range slices.Concat(ofDevices...) {
			isNeeded := func(skipped []resourceapi.SkipNodeOperation) bool {
				return !slices.Contains(skipped, operation) && !slices.Contains(skipped, resourceapi.SkipNodeOperationAll)
			}
			if !slices.ContainsFunc(ofDevices, isNeeded) {
				return true
			}
		}
	}
	return false
}
