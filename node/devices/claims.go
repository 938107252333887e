package devices

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/lifepod/lifepod/internal/keylock"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// ClaimsConfig is what Claims needs.
type ClaimsConfig struct {
	Client kubernetes.Interface
	Node   string // name of the node, whose ResourceSlices are removed with their drivers
	// StateFile is where the next agent, or the kubelet, finds what is prepared.
	StateFile string
	// HealthFile is where they find how devices were.
	HealthFile string
	// HealthChanged is told of each pod whose devices may be otherwise than before; it must
	// not block.
	HealthChanged func(pod types.UID)
	// Counted is an option of connections to a driver, whose calls are counted; nil: nobody
	// counts.
	Counted func(driver string) grpc.DialOption
	Log     *slog.Logger
}

// Claims are the claims of a node's pods. Use NewClaims.
type Claims struct {
	client  kubernetes.Interface
	drivers *Drivers
	store   *store
	locks   keylock.Locks[types.NamespacedName]
	changed func(pod types.UID)
	log     *slog.Logger
}

// NewClaims reads what is prepared already.
func NewClaims(c ClaimsConfig) (*Claims, error) {
	store, err := openStore(c.StateFile)
	if err != nil {
		return nil, err
	}
	claims := &Claims{client: c.Client, drivers: newDrivers(c), store: store, changed: c.HealthChanged, log: c.Log}
	claims.drivers.health.begin(claims.tellChange)
	return claims, nil
}

// Drivers are those that prepare claims.
func (c *Claims) Drivers() *Drivers { return c.drivers }

// Run keeps connections to the drivers until ctx ends.
func (c *Claims) Run(ctx context.Context) { c.drivers.run(ctx) }

// Prepare has all claims of a pod prepared, with one call for each driver (A-DRA-4). It can
// be called again, and costs little then.
func (c *Claims) Prepare(ctx context.Context, pod *v1.Pod) error {
	if err := c.prepare(ctx, pod); err != nil {
		return fmt.Errorf("prepare dynamic resources: %w", err)
	}
	return nil
}

func (c *Claims) prepare(ctx context.Context, pod *v1.Pod) error {
	wanted, err := c.wantedBy(ctx, pod)
	if err != nil {
		return err
	}
	release, err := c.locks.Take(ctx, keysOf(wanted)...)
	if err != nil {
		return err
	}
	defer release()
	missing, err := c.store.refer(pod.UID, wanted)
	if err != nil {
		return err
	}
	for _, name := range driversOf(missing) {
		mine := withDriver(missing, name)
		prepared, err := c.drivers.prepare(ctx, name, requests(mine))
		if err != nil {
			return err
		}
		c.store.prepared(name, mine, prepared)
	}
	if err := c.store.allPrepared(missing); err != nil {
		return err
	}
	c.changed(pod.UID)
	return nil
}

// Unprepare takes the claims from a pod that has ended. Drivers take back the devices of
// those that no other pod uses (A-DRA-8). It can be called again.
func (c *Claims) Unprepare(ctx context.Context, pod types.UID) error {
	if err := c.unprepare(ctx, pod); err != nil {
		return fmt.Errorf("unprepare dynamic resources: %w", err)
	}
	return nil
}

func (c *Claims) unprepare(ctx context.Context, pod types.UID) error {
	used := c.store.usedBy(pod)
	if len(used) == 0 {
		return nil
	}
	release, err := c.locks.Take(ctx, keysOf(used)...)
	if err != nil {
		return err
	}
	defer release()
	unused := c.store.usedOnlyBy(pod)
	for _, name := range driversOf(unused) {
		if err := c.drivers.unprepare(ctx, name, requests(withDriver(unused, name))); err != nil {
			return err
		}
	}
	return c.store.leave(pod)
}

// Assigned are the devices of a container's claims as the runtime knows them (A-DRA-7).
func (c *Claims) Assigned(_ context.Context, pod *v1.Pod, container *v1.Container) (criconfig.Assigned, error) {
	var names []string
	for _, use := range usesOf(pod, container) {
		claim, found := c.store.get(use.claim)
		if !found {
			return criconfig.Assigned{}, fmt.Errorf("internal error: unable to get claim info for ResourceClaim %s in namespace %s", use.claim.Name, use.claim.Namespace)
		}
		for _, device := range claim.devices(use.request) {
			for _, name := range device.CDIDeviceIDs {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return criconfig.Assigned{CDIDevices: names}, nil
}

// use is a claim that a container uses, and the request of it; empty: all of them. Its
// name is that in the container's status; empty: it has none.
type use struct {
	claim   types.NamespacedName
	request string
	name    v1.ResourceName
}

// usesOf are the uses of a container in the order of the pod's claims.
func usesOf(pod *v1.Pod, container *v1.Container) (all []use) {
	for i := range pod.Spec.ResourceClaims {
		claim := &pod.Spec.ResourceClaims[i]
		name, _, err := resourceclaim.Name(pod, claim)
		if err != nil || name == nil { // none was made for it, which Prepare has judged
			continue
		}
		for _, of := range container.Resources.Claims {
			if of.Name == claim.Name {
				all = append(all, use{types.NamespacedName{Namespace: pod.Namespace, Name: *name}, of.Request, statusName(of)})
			}
		}
	}
	if made := pod.Status.ExtendedResourceClaimStatus; made != nil {
		for _, m := range made.RequestMappings {
			if quantity, asked := container.Resources.Requests[v1.ResourceName(m.ResourceName)]; m.ContainerName == container.Name && asked && !quantity.IsZero() {
				all = append(all, use{types.NamespacedName{Namespace: pod.Namespace, Name: made.ResourceClaimName}, m.RequestName, ""})
			}
		}
	}
	return all
}

func statusName(of v1.ResourceClaim) v1.ResourceName {
	if of.Request == "" {
		return v1.ResourceName("claim:" + of.Name)
	}
	return v1.ResourceName("claim:" + of.Name + "/" + of.Request)
}

// Strays are the pods that have claims prepared and are not among the living.
func (c *Claims) Strays(living func() []types.UID) []types.UID {
	users := c.store.users() // before the living are listed: who is new among them prepares afterwards
	known := living()
	return slices.DeleteFunc(users, func(uid types.UID) bool { return slices.Contains(known, uid) })
}

func requests(claims []Claim) []*drav1.Claim {
	list := make([]*drav1.Claim, 0, len(claims))
	for _, claim := range claims {
		list = append(list, &drav1.Claim{Namespace: claim.Namespace, Uid: string(claim.ClaimUID), Name: claim.ClaimName})
	}
	return list
}
