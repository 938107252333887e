package space

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// CollectorConfig is what a Collector needs.
type CollectorConfig struct {
	Policy  Policy
	Runtime runtimeapi.RuntimeServiceClient
	Images  runtimeapi.ImageServiceClient
	Claims  *Claims
	Pods    Pods
	// GiveBack returns when the runtime has given back the space of containers that were
	// removed; nil: it has when a removal is answered.
	GiveBack func(ctx context.Context) error
	// History is the file that keeps when images were used; empty: none.
	History string
	// Carried says of an image's name that no registry has it, so that it would not come
	// back; nil: each has one.
	Carried func(name string) bool
	// Event records an event about the Node; nil without a cluster.
	Event func(kind, reason, message string)
	Log   *slog.Logger
	// Span begins the span of a collection (A-TRC-7), which end ends; nil: nothing is traced.
	Span func(ctx context.Context, name string) (within context.Context, end func())
	// Statfs measures the file system that a path is on; nil: the system call.
	Statfs func(path string) (Disk, error)
}

// Pods are those of the node (package pods).
type Pods interface {
	// Using are the pods that may still create containers. They are not changed.
	Using() []*v1.Pod
	// NeedSpace has the pods give up their dead containers, as far as each can.
	NeedSpace()
	// Owned says that a pod is this node's.
	Owned(uid types.UID) bool
	// ClearDisk removes what is left on disk of pods that are gone.
	ClearDisk(ctx context.Context) error
}

// Collector frees the disk of a node. Its methods may be called concurrently.
type Collector struct {
	// immutable
	config CollectorConfig
	began  time.Time
	// Removed counts the images that were removed, by reason.
	Removed *prometheus.CounterVec

	mu      sync.Mutex // held by the collection under way
	history history
	uses    uses
	disk    imageDisk
	failing failing
}

// NewCollector prepares a Collector, which collects while Run runs, and on request.
func NewCollector(c CollectorConfig) *Collector {
	now := time.Now()
	measure := c.Statfs
	if measure == nil {
		measure = statfs
	}
	if c.Span == nil {
		c.Span = func(ctx context.Context, _ string) (context.Context, func()) { return ctx, func() {} }
	}
	history, err := openHistory(c.History, now)
	if err != nil {
		c.Log.Warn("all images count as new", "err", err)
	}
	removed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "kubelet_image_garbage_collected_total",
		Help: "Total number of images garbage collected by the kubelet, whether through disk usage or image age.",
	}, []string{"reason"})
	return &Collector{
		config: c, began: now, Removed: removed, history: history,
		uses: uses{runtime: c.Runtime}, disk: imageDisk{images: c.Images, statfs: measure},
	}
}

// event records an event about the Node.
func (c *Collector) event(reason, message string) {
	if c.config.Event != nil {
		c.config.Event(v1.EventTypeWarning, reason, message)
	}
}

// Conditions are those of pressure that the Node has.
type Conditions struct {
	now atomic.Pointer[[]v1.NodeConditionType]
}

// Under says whether the Node has a condition.
func (c *Conditions) Under(condition v1.NodeConditionType) bool {
	now := c.now.Load()
	return now != nil && slices.Contains(*now, condition)
}
