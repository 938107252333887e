package stats

import (
	"context"
	"log/slog"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"golang.org/x/sync/singleflight"
)

// Config is what figures are made of. It isn't changed once Stats are made.
type Config struct {
	NodeName string
	Runtime  runtimeapi.RuntimeServiceClient
	Images   runtimeapi.ImageServiceClient
	// RuntimeSocket is the path of the runtime's socket, which tells its process.
	RuntimeSocket string
	Pods          Pods
	// VolumePeriod is how long the measured size of a volume is good
	// (volumeStatsAggPeriod); below zero volumes are not measured.
	VolumePeriod time.Duration
	// Measured is told how long it took to measure a volume, and in which way (A-VOL-8).
	Measured func(source string, took time.Duration)
	Log      *slog.Logger
}

// Pods are the node's pods and where they are on this machine.
type Pods struct {
	// List are those that the sources want, each with its status; never changed.
	List func() []*v1.Pod
	// Foreign are pods of the same runtime that are not this node's; nil: none.
	Foreign func(uid types.UID) bool
	// Dir has a folder per pod, by UID.
	Dir string
	// LogDir is the folder of a pod's logs.
	LogDir func(pod *v1.Pod) string
	// Cgroup is the path of a pod's cgroup, CgroupRoot that of all pods together,
	// as below the root of each hierarchy.
	Cgroup     func(pod *v1.Pod) string
	CgroupRoot string
	// Bound is what the claim of a volume is bound to; nil without an API server.
	Bound func(ctx context.Context, pod *v1.Pod, volume *v1.Volume) (*v1.PersistentVolume, error)
	// OfDriver asks the CSI driver of a pod's volume, by the name of the PersistentVolume or of an
	// inline volume; nil without an API server.
	OfDriver func(ctx context.Context, pod types.UID, name string) (*csi.NodeGetVolumeStatsResponse, error)
}

// Stats answers what is used. Its methods may be called concurrently.
type Stats struct {
	Config
	begun time.Time
	boot  time.Time

	asking  singleflight.Group // of the runtime
	rates   rates
	volumes volumeSizes
}

// New prepares Stats; nothing is read yet but when the machine was started.
func New(c Config) *Stats {
	s := &Stats{Config: c, begun: time.Now()}
	s.rates.of = map[string]rate{}
	s.volumes.of = map[volumeKey]*volumeSize{}
	var err error
	if s.boot, err = bootTime(); err != nil {
		c.Log.Warn("can't read when the machine was started", "err", err)
	}
	return s
}
