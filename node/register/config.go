package register

import (
	"cmp"
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"
	v1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Version is what the Node says its kubelet's version is: the Kubernetes level
// that lifepod keeps to, with a build part that semantic version comparison
// ignores, as other distributions do it.
const Version = "v1.37.2+lifepod"

// Config is what the node is and where its facts come from. It is not changed
// after New.
type Config struct {
	// Name is the node's, its hostname or the override (Hostname).
	Name string
	// NodeIPs are those of --node-ip (ParseNodeIPs), at most one of each family.
	NodeIPs []net.IP
	// Labels and Taints are given to a new Node; an existing one keeps its own
	// except for the labels that are the node's (ParseLabels, ParseTaints).
	Labels map[string]string
	Taints []v1.Taint
	// ProviderID is the machine's name at its cloud; may be empty.
	ProviderID string
	// Port is where the node's API listens.
	Port int32
	// Unregistered leaves creating the Node to somebody else (registerNode: false).
	Unregistered bool
	// MaxImages are reported, the largest first; -1 is all (nodeStatusMaxImages).
	MaxImages int32
	// FeatureGates are those that are on, by name; the node declares what it can
	// do of them (FeaturesOn are lifepod's).
	FeatureGates map[string]bool

	Resources Resources
	Timing    Timing
	API       API
	Runtime   Runtime
	Senses    Senses
	Log       *slog.Logger
}

// Timing has the intervals of KubeletConfiguration; zero is its default.
type Timing struct {
	// StatusUpdate is how often what nobody announces is looked at
	// (nodeStatusUpdateFrequency, 10 s).
	StatusUpdate time.Duration
	// StatusReport is after what time the status is sent although nothing has
	// changed (nodeStatusReportFrequency, 5 min).
	StatusReport time.Duration
	// LeaseSeconds is how long the Lease is good for; it is renewed after a
	// quarter of it (nodeLeaseDurationSeconds, 40).
	LeaseSeconds int32
	// RuntimeGrace is how long a runtime that cannot be reached leaves the node
	// Ready. The kubelet waits for 30 s; zero tells the cluster at once. The node
	// controller marks every pod of a node that isn't Ready as not ready itself.
	RuntimeGrace time.Duration
}

// API is the cluster's.
type API struct {
	// Client watches the Node. Without one there is no cluster: Run does nothing,
	// and Node gives what would have been registered.
	Client kubernetes.Interface
	// Heartbeats renews the Lease and writes the status. With connections of its
	// own nothing else can delay what keeps the node alive; nil takes Client.
	Heartbeats kubernetes.Interface
	// Shared follows the Node together with others of this process; nil: it is followed by
	// itself.
	Shared *Shared
	// Broken is called when two calls in a row, to register or about the Lease, had
	// no answer: to close connections that may lead nowhere. May be nil.
	Broken func()
}

// Runtime is the container runtime's.
type Runtime struct {
	Service RuntimeService
	Images  ImageService
}

// RuntimeService is the part of the CRI runtime service that is used.
type RuntimeService interface {
	Status(ctx context.Context, in *runtimeapi.StatusRequest, opts ...grpc.CallOption) (*runtimeapi.StatusResponse, error)
	Version(ctx context.Context, in *runtimeapi.VersionRequest, opts ...grpc.CallOption) (*runtimeapi.VersionResponse, error)
}

// ImageService is the part of the CRI image service that is used.
type ImageService interface {
	ListImages(ctx context.Context, in *runtimeapi.ListImagesRequest, opts ...grpc.CallOption) (*runtimeapi.ListImagesResponse, error)
}

// Senses connect the node's status with the rest of the agent. Each may be nil.
// When an answer of Pressure or NotReady has changed, call Node.Changed.
type Senses struct {
	// Pressure answers for MemoryPressure, DiskPressure and PIDPressure; nil: nobody
	// looks, and there is none.
	Pressure func(v1.NodeConditionType) bool
	// Devices are the extended resources that device plugins have, and those of them that can be
	// used (A-DEV-4).
	Devices func() (capacity, allocatable v1.ResourceList)
	// VolumesInUse are those that must not be detached (A-CSI-5).
	VolumesInUse func() []v1.UniqueVolumeName
	// NotReady is a further reason not to be Ready, such as a shutdown under way
	// (B-SHD-2).
	NotReady func() error
	// Event records an event about the Node; it must not block.
	Event func(eventType, reason, message string)
	// Addressed hears the node's addresses whenever they were looked for; it must
	// not block.
	Addressed func([]v1.NodeAddress)
	// Heard hears each newer version of the Node that the API has; it must neither
	// block nor change it.
	Heard func(*v1.Node)
}

func (t Timing) withDefaults() Timing {
	t.StatusUpdate = cmp.Or(t.StatusUpdate, 10*time.Second)
	t.StatusReport = cmp.Or(t.StatusReport, 5*time.Minute)
	t.LeaseSeconds = cmp.Or(t.LeaseSeconds, 40)
	return t
}

func (s Senses) withDefaults() Senses {
	if s.Pressure == nil {
		s.Pressure = func(v1.NodeConditionType) bool { return false }
	}
	if s.Devices == nil {
		s.Devices = func() (capacity, allocatable v1.ResourceList) { return nil, nil }
	}
	if s.VolumesInUse == nil {
		s.VolumesInUse = func() []v1.UniqueVolumeName { return nil }
	}
	if s.NotReady == nil {
		s.NotReady = func() error { return nil }
	}
	if s.Event == nil {
		s.Event = func(string, string, string) {}
	}
	if s.Addressed == nil {
		s.Addressed = func([]v1.NodeAddress) {}
	}
	if s.Heard == nil {
		s.Heard = func(*v1.Node) {}
	}
	return s
}

func (s Senses) tell(e event) { s.Event(e.kind, e.reason, e.message) }

func (a API) withDefaults() API {
	if a.Heartbeats == nil {
		a.Heartbeats = a.Client
	}
	if a.Broken == nil {
		a.Broken = func() {}
	}
	return a
}
