package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	kubeletconfig "k8s.io/kubelet/config/v1beta1"

	"github.com/lifepod/lifepod/node/csi"
	"github.com/lifepod/lifepod/node/devices"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/space"
)

// newNode describes the machine as a node.
func (s *setup) newNode(c *cluster, against notReady, conditions *space.Conditions, given *devices.Devices) (*register.Node, error) {
	k, o := s.config.Kubelet, s.options
	r := register.Config{
		Name: s.name, ProviderID: k.ProviderID, Port: k.Port,
		Unregistered: !*k.RegisterNode, MaxImages: *k.NodeStatusMaxImages, FeatureGates: featureGates(k),
		Resources: register.Resources{
			RootDir: o.rootDir(), WithoutEphemeralStorage: !*k.LocalStorageCapacityIsolation,
			MaxPods: k.MaxPods, PodsPerCore: k.PodsPerCore,
			KubeReserved: k.KubeReserved, SystemReserved: k.SystemReserved, ReservedSystemCPUs: k.ReservedSystemCPUs,
			EvictionHard: k.EvictionHard,
		},
		Timing: register.Timing{
			StatusUpdate: k.NodeStatusUpdateFrequency.Duration, StatusReport: k.NodeStatusReportFrequency.Duration,
			LeaseSeconds: k.NodeLeaseDurationSeconds, RuntimeGrace: runtimeGrace,
		},
		Runtime: register.Runtime{Service: s.calls.Runtime, Images: s.calls.Images},
		Log:     s.log,
	}
	var err error
	if r.NodeIPs, err = register.ParseNodeIPs(o.NodeIP); err != nil {
		return nil, err
	}
	if r.Labels, err = register.ParseLabels(o.NodeLabels); err != nil {
		return nil, err
	}
	if r.Taints, err = register.ParseTaints(o.RegisterWithTaints); err != nil {
		return nil, err
	}
	r.Taints = append(r.Taints, k.RegisterWithTaints...)
	r.Senses.Pressure, r.Senses.Devices, r.Resources.KeepExtended = conditions.Under, given.Capacity, given.KnewNode()
	if c != nil {
		r.API = register.API{Client: c.client, Broken: c.connection.Reconnect}
		r.Senses.Event, r.Senses.Addressed, against.csi = c.nodeEvent, c.addressed, c.csi.Node.NotReady
		r.Senses.VolumesInUse = c.volumes.InUse
	}
	r.Senses.NotReady = against.err
	r.Senses.Heard = func(node *v1.Node) {
		if against.network != nil {
			against.network.node(node)
		}
		if c != nil {
			c.nodeUID.Store(node.UID)
			c.csi.Node.Heard(node)
			c.volumes.NodeChanged(node)
		}
	}
	node, err := register.New(r)
	if c != nil && err == nil {
		c.csi.Node.Initialized = node.Changed
		c.volumes.Connect(func(c *csi.Config) { c.Changed = node.Changed })
	}
	if against.shutdowns != nil && err == nil {
		against.shutdowns.Changed = node.Changed
	}
	if err == nil {
		given.Config.Changed = node.Changed
	}
	return node, err
}

// runtimeGrace is how long a runtime may be away before the cluster is told, which
// then marks every pod of the node as not ready: longer than a restart of it takes.
const runtimeGrace = 5 * time.Second

// featureGates are those of lifepod, without what the configuration turns off.
func featureGates(k *kubeletconfig.KubeletConfiguration) map[string]bool {
	gates := register.FeaturesOn()
	for name, on := range k.FeatureGates {
		if !on {
			delete(gates, name)
		}
	}
	return gates
}

// tellSkew warns once of an API server that Kubernetes does not support for this node.
// It works nonetheless: what the API server does not know, it refuses or leaves out.
func (c *cluster) tellSkew(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	server, err := c.client.Discovery().ServerVersionWithContext(ctx)
	if err != nil {
		c.log.Debug("the API server does not tell its version", "err", err)
		return
	}
	if err := register.Skew(server.GitVersion); err != nil {
		c.log.Warn(err.Error(), "apiServer", server.GitVersion, "node", register.Version)
	}
}
