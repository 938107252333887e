package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
	"github.com/lifepod/lifepod/worker"
)

// run brings the parts together, and takes them apart when ctx ends.
func (m *member) run(ctx context.Context) error {
	defer m.beside.Wait()
	recording, recorded := context.WithCancel(context.WithoutCancel(ctx))
	defer recorded() // after the pods: their last events are told
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	m.fail = cancel
	if m.inCluster() {
		var err error
		if m.cluster, err = m.newCluster(); err != nil {
			return err
		}
	}
	if err := m.newNode(); err != nil {
		return err
	}
	if err := m.newPods(ctx); err != nil {
		return err
	}
	if err := m.runHealthz(ctx); err != nil {
		return err
	}
	if m.cluster != nil {
		if err := m.newServer(); err != nil {
			return err
		}
	}
	if err := m.pods.Open(ctx); err != nil {
		return err
	}
	defer func() { // whatever else ends the node: the runtime is in use until then
		cancel(nil)
		m.pods.Wait()
	}()
	m.runSources(ctx)
	m.beside.Go(func() { m.health.run(ctx) })
	m.beside.Go(func() { m.engine.Logs.Run(ctx) })
	if m.cluster != nil {
		if err := m.runCluster(ctx, recording); err != nil {
			return err
		}
	}
	m.ready()
	<-ctx.Done()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// newNode describes the machine as a node.
func (m *member) newNode() error {
	k := m.config.Kubelet
	c := register.Config{
		Name: m.name, ProviderID: k.ProviderID, Port: k.Port,
		Unregistered: !*k.RegisterNode, MaxImages: *k.NodeStatusMaxImages, FeatureGates: m.featureGates(),
		Resources: register.Resources{
			RootDir: m.rootDir(), WithoutEphemeralStorage: !*k.LocalStorageCapacityIsolation,
			MaxPods: k.MaxPods, PodsPerCore: k.PodsPerCore,
			KubeReserved: k.KubeReserved, SystemReserved: k.SystemReserved, ReservedSystemCPUs: k.ReservedSystemCPUs,
			EvictionHard: k.EvictionHard,
		},
		Timing: register.Timing{
			StatusUpdate: k.NodeStatusUpdateFrequency.Duration, StatusReport: k.NodeStatusReportFrequency.Duration,
			LeaseSeconds: k.NodeLeaseDurationSeconds, RuntimeGrace: runtimeGrace,
		},
		Runtime: register.Runtime{Service: m.runtime.Client.Runtime, Images: m.runtime.Images},
		Log:     m.Log,
	}
	var err error
	if c.NodeIPs, err = register.ParseNodeIPs(m.NodeIP); err != nil {
		return err
	}
	if c.Labels, err = register.ParseLabels(m.NodeLabels); err != nil {
		return err
	}
	if c.Taints, err = register.ParseTaints(m.RegisterWithTaints); err != nil {
		return err
	}
	c.Taints = append(c.Taints, k.RegisterWithTaints...)
	if m.cluster != nil {
		c.API = m.cluster.nodeAPI()
		c.Senses.Event, c.Senses.Addressed = m.cluster.nodeEvent, m.cluster.addressed
	}
	if m.PodRange.IsValid() && m.cluster != nil && m.runtime.Bundled() {
		if m.network, err = newPodNetwork(m.runtime, m.PodRange, m.Log); err != nil {
			return err
		}
		c.Senses.NotReady, c.Senses.Heard = m.network.ready, m.network.node
		m.network.changed = func() { m.node.Changed() }
	}
	m.node, err = register.New(c)
	return err
}

// runtimeGrace is how long a runtime may be away before the cluster is told, which
// then marks every pod of the node as not ready: longer than a restart of it takes.
const runtimeGrace = 5 * time.Second

// featureGates are those of lifepod, without what the configuration turns off.
func (m *member) featureGates() map[string]bool {
	gates := register.FeaturesOn()
	for name, on := range m.config.Kubelet.FeatureGates {
		if !on {
			delete(gates, name)
		}
	}
	return gates
}

// newPods makes the engine complete and puts the pods' shell on it.
func (m *member) newPods(ctx context.Context) error {
	addresses, err := m.node.Addresses(ctx)
	if err != nil {
		return fmt.Errorf("addresses of the node: %w", err)
	}
	m.engine.HostIPs = nil
	for _, a := range addresses {
		if a.Type == v1.NodeInternalIP {
			m.engine.HostIPs = append(m.engine.HostIPs, a.Address)
		}
	}
	m.engine.Allocatable = m.node.Node().Status.Allocatable
	m.enforce()
	admits := *m.engine.Admission
	m.engine.Admission = nil // the pods' shell asks, which knows the other pods
	paths, err := bundle.Locate(m.runtime.Root, "")
	if err != nil {
		return err
	}
	local := pods.Local{Sockets: control.Folder(paths.RunDir), Foreign: m.Foreign}
	if m.inCluster() {
		local.LogLinks = filepath.Join(filepath.Dir(m.engine.Config.LogRoot), "containers")
	}
	c := pods.Config{
		Engine: m.engine, Host: admits, Sources: m.origins(), Node: m.node.Node,
		Memory: m.memory(), Local: local, Counts: m.metrics, Log: m.Log,
		Stir: m.rest.Stir,
	}
	m.engine.Watch = m.metrics
	m.engine.ObjectsOf = m.objectsOf
	m.engine.Network = &network{runtime: m.runtime.Client.Runtime, given: m.network, traffic: m.Traffic}
	if m.cluster != nil {
		m.cluster.extend(ctx, m, &c)
	}
	if err := m.newImages(ctx); err != nil {
		return err
	}
	m.pods = pods.New(c)
	m.health = newHealth(m.runtime.Client.Runtime, m.memory().Dir)
	if k := m.config.Kubelet; k.StaticPodPath != "" { // its objects are asked for as soon as pods go on
		m.file = &source.File{
			Path: k.StaticPodPath, NodeName: m.name, Period: k.FileCheckFrequency.Duration,
			Feed: m.pods, ObjectsChanged: m.fileObjectsChanged, Log: m.Log,
		}
	}
	m.engine.Room = m.pods.Room
	return nil
}

// objectsOf are those that a pod may use: of the files beside it, or of the cluster (B-STA-9).
func (m *member) objectsOf(pod *v1.Pod) worker.Objects {
	switch {
	case source.IsStatic(pod) && m.file != nil:
		return m.file
	case m.cluster != nil && !source.IsStatic(pod):
		return m.cluster.objects
	}
	return noObjects{}
}

func (m *member) origins() []roster.Source {
	var list []roster.Source
	if m.config.Kubelet.StaticPodPath != "" {
		list = append(list, roster.File)
	}
	if m.config.Kubelet.StaticPodURL != "" {
		list = append(list, roster.URL)
	}
	if m.cluster != nil {
		list = append(list, roster.API)
	}
	return list
}

// runSources begins to listen to where pods come from on this machine.
func (m *member) runSources(ctx context.Context) {
	k := m.config.Kubelet
	if m.file != nil {
		m.beside.Go(func() { m.file.Run(ctx) })
	}
	if k.StaticPodURL != "" {
		from := &source.HTTP{
			URL: k.StaticPodURL, Header: http.Header(k.StaticPodURLHeader), NodeName: m.name,
			Period: k.HTTPCheckFrequency.Duration, Feed: m.pods, Log: m.Log,
		}
		m.beside.Go(func() { from.Run(ctx) })
	}
}

// fileObjectsChanged tells the static pods of a namespace.
func (m *member) fileObjectsChanged(namespace string, names []string) {
	for _, pod := range m.pods.Pods() {
		if pod.Namespace == namespace && source.IsStatic(pod) {
			m.pods.ObjectsChanged(pod.UID, fmt.Sprintf("%v changed", names))
		}
	}
}
