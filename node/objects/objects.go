package objects

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/lifecycle"
	"github.com/lifepod/lifepod/worker/volumes"
)

// Options are what Objects are made of.
type Options struct {
	Client kubernetes.Interface
	Log    *slog.Logger
	// Changed is told that a registered pod should look again at what it uses, and
	// why ("ConfigMap conf changed"). It is called from any goroutine, never with a
	// lock held, and must not block for long.
	Changed func(pod types.UID, because lifecycle.Because)
	// NodeLabels are those that the node affinity of a volume is held against.
	NodeLabels func() (map[string]string, error)

	// PodCertificates is the feature gate PodCertificateRequest. With it, Node is this
	// node's object as it is known, and Warn records an event about a pod.
	PodCertificates bool
	Node            func() *v1.Node
	Warn            func(pod *v1.Pod, reason, message string)
}

// Objects are what the pods of this node use from the API server.
type Objects struct {
	options Options
	watches *watches
	tokens  *tokens
	bundles *bundles

	certificates *certificates
}

var _ volumes.API = (*Objects)(nil)

// New makes Objects; all they do ends with the context.
func New(ctx context.Context, options Options) *Objects {
	return &Objects{
		options: options,
		watches: &watches{ctx: ctx, options: options, entries: map[objectName]*entry{}, pods: map[types.UID]uses{}},
		tokens:  &tokens{options: options, known: map[types.UID]map[tokenKey]*token{}},
		bundles: &bundles{ctx: ctx, options: options, users: map[types.UID]bool{}},

		certificates: &certificates{ctx: ctx, options: options, known: map[types.UID]map[sourceKey]*podCertificate{}},
	}
}

// Register begins to watch what the pod refers to. It is called for a pod that
// comes to the node, before its worker asks for anything, and again when its spec
// changes.
func (o *Objects) Register(pod *v1.Pod) {
	o.watches.register(pod.UID, references(pod))
	o.bundles.register(pod.UID, usesTrustBundles(pod))
	o.tokens.register(pod.UID)
	o.certificates.register(pod)
}

// Unregister forgets a pod, whose volumes are gone, with what only it used.
func (o *Objects) Unregister(pod types.UID) {
	o.watches.register(pod, nil)
	o.bundles.register(pod, false)
	o.tokens.forget(pod)
	o.certificates.forget(pod)
}

// ConfigMap is a ConfigMap that a registered pod refers to, as it is now; it must
// not be changed. For one that is not there apierrors.IsNotFound holds; with any
// other error Changed tells when to ask again.
func (o *Objects) ConfigMap(namespace, name string) (*v1.ConfigMap, error) {
	object, err := o.watches.object(objectName{configMap, namespace, name})
	if err != nil {
		return nil, err
	}
	return object.(*v1.ConfigMap), nil
}

// Secret is like ConfigMap.
func (o *Objects) Secret(namespace, name string) (*v1.Secret, error) {
	object, err := o.watches.object(objectName{secret, namespace, name})
	if err != nil {
		return nil, err
	}
	return object.(*v1.Secret), nil
}

// notSynced is the error while nothing is known of an object. Kubernetes says
// only that time ran out; here the cause is reported, if there is one.
func notSynced(r objectName, cause error) error {
	if cause == nil {
		return fmt.Errorf("failed to sync %s cache: timed out waiting for the condition", r.kind.resource)
	}
	return fmt.Errorf("failed to sync %s cache: %w", r.kind.resource, cause)
}

const (
	// firstAnswerWithin is how long the first to ask wait for the API server.
	firstAnswerWithin = time.Second
	// idleAfter is when a watch that no volume needs is ended, as Kubernetes does.
	idleAfter = 5 * time.Minute
)
