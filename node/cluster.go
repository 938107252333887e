package node

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/objects"
	"github.com/lifepod/lifepod/node/podstatus"
	"github.com/lifepod/lifepod/node/record"
	"github.com/lifepod/lifepod/node/register"
	"github.com/lifepod/lifepod/node/runtimeclass"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/services"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
	"github.com/lifepod/lifepod/roster"
)

// cluster are the parts that talk with the API server.
type cluster struct {
	name       string
	connection *join.Connection
	client     kubernetes.Interface

	statuses *podstatus.Writer
	events   *record.Recorder
	mirrors  *source.Mirrors
	objects  *objects.Objects
	services *services.Services
	classes  *runtimeclass.Classes
	serving  *join.Serving
	server   *server.Server
}

// eventDelay is how long a normal event waits for what makes its pod ready: about as
// long as a pod takes to start.
const eventDelay = 300 * time.Millisecond

// userAgent names lifepod in the API server's audit log.
const userAgent = "lifepod-agent"

// newCluster reads the node's credentials; the API server is asked nothing yet.
func (m *member) newCluster() (*cluster, error) {
	connection, err := join.Join(join.Options{
		Kubeconfig: m.Kubeconfig, BootstrapKubeconfig: m.BootstrapKubeconfig, CertDir: m.certDir(),
		NodeName: m.name, Rotate: m.config.Kubelet.RotateCertificates, UserAgent: userAgent, Log: m.Log,
	})
	if err != nil {
		return nil, err
	}
	connection.Config.Wrap(m.metrics.API)
	client, err := kubernetes.NewForConfig(connection.Config)
	if err != nil {
		return nil, fmt.Errorf("clients of the API server: %w", err)
	}
	k := m.config.Kubelet
	c := &cluster{
		name: m.name, connection: connection, client: client,
		statuses: podstatus.New(podstatus.Config{Client: client, Log: m.Log}),
		events:   record.New(record.Config{Client: client, Log: m.Log, Node: m.name, QPS: int(*k.EventRecordQPS), Burst: int(k.EventBurst), Delay: eventDelay}),
	}
	if c.services, err = services.New(client, m.Log); err != nil {
		return nil, err
	}
	if err := c.services.Keep(filepath.Join(m.memory().Dir, "services.json")); err != nil {
		m.Log.Warn("containers wait for the API server to tell of services", "err", err)
	}
	if c.classes, err = runtimeclass.New(client, m.Log); err != nil {
		return nil, err
	}
	return c, nil
}

func (o Options) certDir() string {
	if o.CertDir != "" {
		return o.CertDir
	}
	return rootfolder.AgentKeys.In(o.rootDir())
}

func (c *cluster) nodeAPI() register.API {
	return register.API{Client: c.client, Broken: c.connection.Reconnect}
}

// nodeEvent records an event about the Node.
func (c *cluster) nodeEvent(kind, reason, message string) {
	c.events.Record(record.Event{Object: record.Node(c.name), Type: kind, Reason: reason, Message: message, At: time.Now()})
}

// Pod records an event about a pod.
func (c *cluster) Pod(pod *v1.Pod, at time.Time, e lifecycle.RecordEvent) {
	c.events.Record(record.Event{Object: record.Pod(pod, e.FieldPath), Type: e.Type, Reason: e.Reason, Message: e.Message, At: at})
}

// extend gives the pods what they need of the cluster.
func (c *cluster) extend(ctx context.Context, m *member, to *pods.Config) {
	c.objects = objects.New(ctx, objects.Options{
		Client: c.client, Log: m.Log,
		Changed:    func(uid types.UID, because string) { m.pods.ObjectsChanged(uid, because) },
		NodeLabels: func() (map[string]string, error) { return m.node.Node().Labels, nil },
	})
	c.mirrors = &source.Mirrors{Client: c.client, NodeName: c.name, Refused: c.mirrorRefused, Log: m.Log}
	m.engine.Services, m.engine.RuntimeClasses, m.engine.VolumeAPI = c.services, c.classes, c.objects
	to.Cluster = pods.Cluster{
		Statuses: statuses{c.statuses}, Events: c, Objects: c.objects, Mirrors: c.mirrors, FreshNode: c.freshNode, Changed: c.podChanged,
	}
	to.Local.StaticOf = c.mirrors.StaticOf
	to.RuntimeChanged = m.node.RuntimeChanged
}

// statuses writes those of pods by what the node knows of them.
type statuses struct{ *podstatus.Writer }

// Set says what the status of a pod is now.
func (s statuses) Set(pod *v1.Pod, hash string, status v1.PodStatus, seen func(error)) {
	ref := refOf(pod)
	ref.Static = hash
	s.Writer.Set(ref, status, seen)
}

// Delete says that nothing is left of a pod that is being deleted in the API.
func (s statuses) Delete(pod *v1.Pod, status v1.PodStatus) { s.Writer.Delete(refOf(pod), status) }

func refOf(pod *v1.Pod) podstatus.Ref {
	return podstatus.Ref{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// freshNode is the Node as the API server has it now.
func (c *cluster) freshNode(ctx context.Context) (*v1.Node, error) {
	return c.client.CoreV1().Nodes().Get(ctx, c.name, metav1.GetOptions{})
}

func (c *cluster) podChanged(uid types.UID) {
	if c.server != nil {
		c.server.Changed(uid)
	}
}

// runCluster begins all that talks with the API server. The pods of the API are
// listened to once the Node is known (B-RST-3). Events are written until recording
// ends.
func (m *member) runCluster(ctx, recording context.Context) error {
	c := m.cluster
	if err := m.runServer(ctx); err != nil {
		return err
	}
	for _, run := range []func(context.Context){c.connection.Run, c.statuses.Run, c.mirrors.Run} {
		m.beside.Go(func() { run(ctx) })
	}
	for _, run := range []func(context.Context){c.services.Run, c.classes.Run, m.node.Run} {
		m.beside.Go(func() { c.onceJoined(ctx, run) })
	}
	if m.network != nil {
		m.beside.Go(func() { m.network.run(ctx) })
	}
	m.beside.Go(func() { c.events.Run(recording) })
	m.beside.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-m.node.Known():
		}
		if m.Joined != nil {
			m.Joined()
		}
		api := &source.API{Client: c.client, NodeName: c.name, Feed: apiFeed{m}, Mirrors: mirrorFeed{c}, Log: m.Log}
		api.Run(ctx)
	})
	return nil
}

// onceJoined runs what would only fail before the node has credentials, and then
// wait to try again.
func (c *cluster) onceJoined(ctx context.Context, run func(context.Context)) {
	select {
	case <-ctx.Done():
	case <-c.connection.Joined():
		run(ctx)
	}
}

// apiFeed lets the status writer know what the API has, before anything is done
// with it.
type apiFeed struct{ *member }

// Wanted is a pod of the API.
func (f apiFeed) Wanted(origin roster.Source, pod *v1.Pod) {
	f.cluster.statuses.Live(pod)
	f.pods.Wanted(origin, pod)
}

// Unwanted is a pod that the API has no longer.
func (f apiFeed) Unwanted(origin roster.Source, uid types.UID) {
	if pod, found := f.pods.PodByUID(uid); found {
		f.cluster.statuses.Gone(pod)
	}
	f.pods.Unwanted(origin, uid)
}

// Heard says that all pods of the API were told.
func (f apiFeed) Heard(origin roster.Source) { f.pods.Heard(origin) }

// mirrorFeed is the same for mirror pods.
type mirrorFeed struct{ *cluster }

// MirrorSeen is a mirror pod as the API has it.
func (f mirrorFeed) MirrorSeen(pod *v1.Pod) {
	f.statuses.Live(pod)
	f.mirrors.MirrorSeen(pod)
}

// MirrorGone is a mirror pod that the API has no longer.
func (f mirrorFeed) MirrorGone(pod *v1.Pod) {
	f.statuses.Gone(pod)
	f.mirrors.MirrorGone(pod)
}

// mirrorRefused tells of a static pod that the API server does not show.
func (c *cluster) mirrorRefused(static *v1.Pod, err error) {
	c.events.Record(record.Event{
		Object: record.Pod(static, ""), Type: v1.EventTypeWarning, Reason: source.RefusedReason, Message: err.Error(), At: time.Now(),
	})
}
