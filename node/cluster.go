package node

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/rootfolder"
	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/node/csi"
	"github.com/lifepod/lifepod/node/devices"
	"github.com/lifepod/lifepod/node/groups"
	"github.com/lifepod/lifepod/node/groups/transport"
	"github.com/lifepod/lifepod/node/join"
	"github.com/lifepod/lifepod/node/objects"
	"github.com/lifepod/lifepod/node/publish"
	"github.com/lifepod/lifepod/node/server"
	"github.com/lifepod/lifepod/node/source"
	"github.com/lifepod/lifepod/pods"
)

// cluster are the parts that talk with the API server.
type cluster struct {
	name       string
	log        *slog.Logger
	connection *join.Connection
	client     kubernetes.Interface

	statuses publish.Statuses
	events   *publish.Recorder
	mirrors  *source.Mirrors
	services *objects.Services
	classes  *objects.RuntimeClasses
	claims   *devices.Claims
	csi      *csi.Registry
	volumes  *csi.Volumes
	jobSets  *groups.JobSets
	groups   *groups.Groups
	serving  *join.Serving // nil: the node's API is not served

	nodeUID atomic.Value // types.UID; none until the Node is known
}

// userAgent names lifepod in the API server's audit log.
const userAgent = "lifepod-agent"

// newCluster reads the node's credentials; the API server is asked nothing yet. csiChanged is told
// when CSI drivers come and go.
func (s *setup) newCluster(inbox *pods.Inbox, csiChanged func()) (*cluster, error) {
	if !s.options.inCluster() {
		return nil, nil
	}
	k, o := s.config.Kubelet, s.options
	connection, err := join.Join(join.Options{
		Kubeconfig: o.Kubeconfig, BootstrapKubeconfig: o.BootstrapKubeconfig, CertDir: o.certDir(),
		NodeName: s.name, Rotate: k.RotateCertificates, UserAgent: userAgent, Log: s.log,
	})
	if err != nil {
		return nil, err
	}
	connection.Config.Wrap(s.traces.API)
	connection.Config.Wrap(s.counts.API)
	client, err := kubernetes.NewForConfig(connection.Config)
	if err != nil {
		return nil, fmt.Errorf("clients of the API server: %w", err)
	}
	events := publish.NewRecorder(publish.RecorderConfig{
		Client: client, Log: s.log, Node: s.name, QPS: int(*k.EventRecordQPS), Burst: int(k.EventBurst),
		Delay: publish.EventDelay, Again: publish.EventAgain,
	})
	services, err := objects.NewServices(client, s.log)
	if err != nil {
		return nil, err
	}
	if err := services.Keep(filepath.Join(o.memory().Dir, "services.json")); err != nil {
		s.log.Warn("containers wait for the API server to tell of services", "err", err)
	}
	claims, err := s.newClaims(client, inbox)
	if err != nil {
		return nil, err
	}
	serving, err := s.newServing(client)
	if err != nil {
		return nil, err
	}
	drivers := csi.NewRegistry(csi.RegistryConfig{Client: client, Node: s.name, Log: s.log, Changed: csiChanged, Counted: s.counts.CSI})
	volumes, err := s.newVolumes(client, drivers)
	if err != nil {
		return nil, err
	}
	jobSets, err := groups.NewJobSets(connection.Config, s.log)
	if err != nil {
		return nil, err
	}
	return &cluster{
		name: s.name, log: s.log, connection: connection, client: client,
		statuses: publish.NewStatuses(client, nil, s.log), events: events,
		mirrors:  &source.Mirrors{Client: client, NodeName: s.name, Refused: mirrorRefusals{events}.tell, Log: s.log},
		services: services, classes: objects.NewRuntimeClasses(client, s.log), claims: claims, serving: serving,
		csi: drivers, volumes: volumes, jobSets: jobSets, groups: &groups.Groups{JobSets: jobSets, Members: s.newMembers(connection, client)},
	}, nil
}

// newMembers are the pods that are members of groups without a leader. Other nodes are reached by their APIs.
func (s *setup) newMembers(connection *join.Connection, client kubernetes.Interface) *groups.Members {
	return groups.NewMembers(groups.MembersConfig{
		Client: client, Port: s.config.Kubelet.Port, Kept: groups.NewKept(filepath.Join(s.options.memory().Dir, "groups.json")), Log: s.log,
		Node: transport.New(transport.Options{Name: s.name, Way: &transport.HTTPS{TLS: connection.TLS}, Log: s.log}),
	})
}

func (o Options) certDir() string {
	if o.CertDir != "" {
		return o.CertDir
	}
	return rootfolder.AgentKeys.In(o.rootDir())
}

// event records an event about an object that is no pod's affair alone.
func (c *cluster) event(object v1.ObjectReference, kind, reason, message string) {
	c.events.Record(publish.Event{Object: object, Type: kind, Reason: reason, Message: message, At: time.Now()})
}

// nodeEvent records an event about the Node.
func (c *cluster) nodeEvent(kind, reason, message string) {
	c.event(c.nodeReference(), kind, reason, message)
}

// nodeReference has the Node's UID as soon as it is known: kubectl describe finds events by it (A-EVT-1).
func (c *cluster) nodeReference() v1.ObjectReference {
	uid, _ := c.nodeUID.Load().(types.UID)
	return publish.NodeReference(c.name, uid)
}

// Pod records an event about a pod, after the status that it explains (A-EVT-7).
func (c *cluster) Pod(pod *v1.Pod, at time.Time, e lifecycle.RecordEvent) {
	publish.Events{Statuses: c.statuses, Recorder: c.events}.Pod(pod, at, e)
}

// warn records a warning about a pod.
func (c *cluster) warn(pod *v1.Pod, reason, message string) {
	c.Pod(pod, time.Now(), lifecycle.RecordEvent{Type: v1.EventTypeWarning, Reason: reason, Message: message})
}

// forPods is what the pods have of it, beside the objects that they use.
func (c *cluster) forPods(objects *objects.Objects, changes *server.Changes) pods.Cluster {
	if c == nil {
		return pods.Cluster{Changed: changes.Changed}
	}
	return pods.Cluster{
		Statuses: c.statuses, Events: c, Objects: objects, Mirrors: c.mirrors, Groups: c.groups, FreshNode: c.freshNode, Changed: changes.Changed,
	}
}

// freshNode is the Node as the API server has it now.
func (c *cluster) freshNode(ctx context.Context) (*v1.Node, error) {
	return c.client.CoreV1().Nodes().Get(ctx, c.name, metav1.GetOptions{})
}

// onceJoined runs what would only fail before the node has credentials, and then
// wait to try again.
func (c *cluster) onceJoined(run func(context.Context)) func(context.Context) {
	return after(c.connection.Joined(), run)
}

// mirrorRefusals become events.
type mirrorRefusals struct{ events *publish.Recorder }

// tell tells of a static pod that the API server does not show.
func (r mirrorRefusals) tell(static *v1.Pod, err error) {
	r.events.Record(publish.Event{
		Object: publish.PodReference(static, ""), Type: v1.EventTypeWarning, Reason: source.RefusedReason, Message: err.Error(), At: time.Now(),
	})
}
