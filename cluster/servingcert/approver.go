package servingcert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	certificatesv1 "k8s.io/api/certificates/v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	certificateslisters "k8s.io/client-go/listers/certificates/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"

	"github.com/lifepod/lifepod/cluster/queue"
	"github.com/lifepod/lifepod/sim/nodes"
)

type Config struct {
	Client    kubernetes.Interface
	Informers informers.SharedInformerFactory
	// Reserved is asked for each request: servers and ranges of addresses may be added.
	Reserved func(context.Context) (Reserved, error)
	Log      *slog.Logger
}

// approver approves requests; one that it can't approve is left to people, and
// looked at again when a Node gets other addresses.
type approver struct {
	Config
	requests certificateslisters.CertificateSigningRequestLister
	nodes    corelisters.NodeLister
	queue    workqueue.TypedRateLimitingInterface[string]
	refused  map[string]string // why, by the request; reported once. Of the one worker.
}

// Run approves requests until ctx ends.
func Run(ctx context.Context, c Config) error {
	requests, nodes := c.Informers.Certificates().V1().CertificateSigningRequests(), c.Informers.Core().V1().Nodes()
	a := &approver{
		Config: c, requests: requests.Lister(), nodes: nodes.Lister(), refused: map[string]string{},
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
	}
	if _, err := requests.Informer().AddEventHandler(a.requestHandler()); err != nil {
		return fmt.Errorf("watch certificate requests: %w", err)
	}
	if _, err := nodes.Informer().AddEventHandler(a.nodeHandler()); err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	c.Informers.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), requests.Informer().HasSynced, nodes.Informer().HasSynced) {
		return nil
	}
	queue.Work(ctx, a.queue, 1, a.look, func(name string, err error) {
		c.Log.Warn("the certificate of a node's API can't be approved, it is tried again", "request", name, "err", err)
	})
	return nil
}

func (a *approver) requestHandler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { a.add(object.(*certificatesv1.CertificateSigningRequest)) },
		UpdateFunc: func(_, object any) { a.add(object.(*certificatesv1.CertificateSigningRequest)) },
		DeleteFunc: func(object any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
				a.queue.Add(key) // to forget it
			}
		},
	}
}

// nodeHandler has requests looked at again that came before the Node's addresses.
func (a *approver) nodeHandler() cache.ResourceEventHandler {
	again := func() {
		pending, err := a.requests.List(labels.Everything())
		if err != nil {
			return // a lister of a cache never fails
		}
		for _, r := range pending {
			a.add(r)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { again() },
		UpdateFunc: func(before, after any) {
			if !equality.Semantic.DeepEqual(before.(*v1.Node).Status.Addresses, after.(*v1.Node).Status.Addresses) {
				again()
			}
		},
		DeleteFunc: func(any) { again() },
	}
}

func (a *approver) add(r *certificatesv1.CertificateSigningRequest) {
	if pending(r) {
		a.queue.Add(r.Name)
	}
}

func pending(r *certificatesv1.CertificateSigningRequest) bool {
	return r.Spec.SignerName == certificatesv1.KubeletServingSignerName && len(r.Status.Conditions) == 0 && len(r.Status.Certificate) == 0
}

func (a *approver) look(ctx context.Context, name string) error {
	r, err := a.requests.Get(name)
	if apierrors.IsNotFound(err) {
		delete(a.refused, name)
		return nil
	}
	if err != nil || !pending(r) {
		return err
	}
	reserved, err := a.Reserved(ctx)
	if err != nil {
		return err
	}
	if why := a.decide(r, reserved); why != nil {
		if a.refused[name] != why.Error() {
			a.refused[name] = why.Error()
			level := slog.LevelWarn
			_, other := requester(r) // such as who runs simulated nodes, and approves what they ask for
			if other != nil || errors.Is(why, errNoNode) {
				level = slog.LevelDebug
			}
			a.Log.Log(ctx, level, "the certificate of a node's API is not approved", "request", name, "user", r.Spec.Username, "because", why)
		}
		return nil
	}
	delete(a.refused, name)
	return a.approve(ctx, r.DeepCopy())
}

// errNoNode says that a request waits for its Node, which may come right after it.
var errNoNode = errors.New("there is no Node")

func (a *approver) decide(r *certificatesv1.CertificateSigningRequest, reserved Reserved) error {
	name, err := requester(r)
	if err != nil {
		return err
	}
	node, err := a.nodes.Get(name)
	if err != nil {
		return fmt.Errorf("%w %s", errNoNode, name)
	}
	all, err := a.nodes.List(labels.Everything())
	if err != nil {
		return err
	}
	others := make([]*v1.Node, 0, len(all))
	for _, other := range all {
		// Simulated nodes have the address of the machine that they are on, and serve no other's pods.
		if _, simulated := other.Labels[nodes.SimulatedLabel]; !simulated && other.Name != name {
			others = append(others, other)
		}
	}
	return decide(r, node, others, reserved)
}

func (a *approver) approve(ctx context.Context, r *certificatesv1.CertificateSigningRequest) error {
	r.Status.Conditions = append(r.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: v1.ConditionTrue,
		Reason: "AutoApproved", Message: "The name and the addresses are those of the Node.",
	})
	_, err := a.Client.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, r.Name, r, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
