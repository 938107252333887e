package devices

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"k8s.io/apimachinery/pkg/types"
	healthapi "k8s.io/kubelet/pkg/apis/dra-health/v1"
	drav1 "k8s.io/kubelet/pkg/apis/dra/v1"
	drav1beta1 "k8s.io/kubelet/pkg/apis/dra/v1beta1"

	"github.com/lifepod/lifepod/internal/pluginsocket"
)

// callTimeout is how long a driver may take to answer (A-DRA-4).
const callTimeout = 45 * time.Second

// driver is one that has registered, on one socket.
type driver struct {
	name       string
	endpoint   string
	connection *grpc.ClientConn
	plugin     drav1.DRAPluginClient
	health     healthapi.DRAResourceHealthClient // nil: it does not tell how its devices are
	ctx        context.Context                   // ends with close
	end        context.CancelFunc

	connected bool // guarded by Drivers.mu
}

func (d *Drivers) dial(name, endpoint, service string) (*driver, error) {
	var options []grpc.DialOption
	if d.counted != nil {
		options = append(options, d.counted(name))
	}
	connection, err := pluginsocket.Client(endpoint, options...)
	if err != nil {
		return nil, fmt.Errorf("create gRPC connection to DRA driver %s plugin at endpoint %s: %w", name, endpoint, err)
	}
	one := &driver{name: name, endpoint: endpoint, connection: connection, plugin: drav1.NewDRAPluginClient(connection)}
	if service == drav1beta1.DRAPluginService {
		one.plugin = drav1beta1.V1Beta1ClientWrapper{DRAPluginClient: drav1beta1.NewDRAPluginClient(connection)}
	}
	one.ctx, one.end = context.WithCancel(context.Background())
	return one, nil
}

func (d *driver) close() {
	d.end()
	_ = d.connection.Close() // nobody waits for what it had to say
}

// watch keeps the connection open, and tells whether it is, until close.
func (d *driver) watch(tell func(connected bool)) {
	for state := d.connection.GetState(); ; state = d.connection.GetState() {
		tell(state == connectivity.Ready)
		if state == connectivity.Idle {
			d.connection.Connect()
		}
		if !d.connection.WaitForStateChange(d.ctx, state) {
			return
		}
	}
}

// prepare has a driver prepare its devices of claims; all or none (A-DRA-4).
func (d *Drivers) prepare(ctx context.Context, name string, claims []*drav1.Claim) (map[types.UID][]ClaimedDevice, error) {
	driver, err := d.named(name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := driver.plugin.NodePrepareResources(ctx, &drav1.NodePrepareResourcesRequest{Claims: claims})
	if err != nil {
		return nil, fmt.Errorf("NodePrepareResources: %w", err)
	}
	if err := check("NodePrepareResources", claims, response.GetClaims()); err != nil {
		return nil, err
	}
	prepared := map[types.UID][]ClaimedDevice{}
	for uid, result := range response.GetClaims() {
		for _, device := range result.GetDevices() {
			prepared[types.UID(uid)] = append(prepared[types.UID(uid)], ClaimedDevice{
				PoolName: device.PoolName, DeviceName: device.DeviceName, ShareID: (*types.UID)(device.ShareId),
				RequestNames: device.RequestNames, CDIDeviceIDs: device.CdiDeviceIds,
			})
		}
	}
	return prepared, nil
}

// unprepare has a driver take its devices back.
func (d *Drivers) unprepare(ctx context.Context, name string, claims []*drav1.Claim) error {
	driver, err := d.named(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	response, err := driver.plugin.NodeUnprepareResources(ctx, &drav1.NodeUnprepareResourcesRequest{Claims: claims})
	if err != nil {
		return fmt.Errorf("NodeUnprepareResources: %w", err)
	}
	return check("NodeUnprepareResources", claims, response.GetClaims())
}

// check says what is wrong with an answer: it has to be about each claim that was asked for,
// and no other.
func check[R interface{ GetError() string }](call string, asked []*drav1.Claim, answered map[string]R) error {
	left := len(answered)
	for _, claim := range asked {
		result, found := answered[claim.Uid]
		if !found {
			continue
		}
		left--
		if text := result.GetError(); text != "" {
			return fmt.Errorf("%s failed for ResourceClaim %s: %s", call, claim.Name, text)
		}
	}
	if left > 0 {
		return fmt.Errorf("%s returned result for unknown claim UID %s", call, unknown(asked, answered))
	}
	if skipped := len(asked) - len(answered); skipped > 0 {
		return fmt.Errorf("%s skipped %d ResourceClaims", call, skipped)
	}
	return nil
}

// unknown is the first UID that nobody asked about.
func unknown[R any](asked []*drav1.Claim, answered map[string]R) string {
	for _, uid := range slices.Sorted(maps.Keys(answered)) {
		if !slices.ContainsFunc(asked, func(c *drav1.Claim) bool { return c.Uid == uid }) {
			return uid
		}
	}
	return ""
}
