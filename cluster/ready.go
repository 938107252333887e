package cluster

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifepod/lifepod/internal/footprint"
)

// readyPoll is how often the API server is asked whether it is ready; it has no
// other way to tell.
const readyPoll = 5 * time.Millisecond

// awaitAPI returns when the API server is ready, but for some of its checks.
func awaitAPI(ctx context.Context, client kubernetes.Interface, but ...string) error {
	ticker := time.NewTicker(readyPoll)
	defer ticker.Stop()
	for {
		request := client.Discovery().RESTClient().Get().AbsPath("/readyz")
		for _, check := range but {
			request = request.Param("exclude", check)
		}
		if _, err := request.DoRaw(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// need is what must be there before users' first objects are taken and their pods can
// start.
type need struct {
	what  string
	there func(context.Context, kubernetes.Interface) error
}

// needs are those of this cluster. The API server and the controllers make them after
// the API server is ready.
func (c Config) needs() []need {
	list := []need{{what: "Service default/kubernetes", there: func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().Services(metav1.NamespaceDefault).Get(ctx, apiServiceName, metav1.GetOptions{})
		return err
	}}}
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem, metav1.NamespacePublic, v1.NamespaceNodeLease} {
		list = append(list, need{what: "Namespace " + name, there: func(ctx context.Context, client kubernetes.Interface) error {
			_, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
			return err
		}})
	}
	if !c.runs("controllers") {
		return list
	}
	return append(list, need{what: "ServiceAccount default/default", there: func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		return err
	}}, need{what: "ConfigMap default/kube-root-ca.crt", there: func(ctx context.Context, client kubernetes.Interface) error {
		_, err := client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		return err
	}})
}

const apiServiceName = "kubernetes"

// How often is looked for what is needed, and when the log says for the first time
// that it is waited for.
const (
	needPoll   = 20 * time.Millisecond
	needLogged = 10 * time.Second
)

func (n need) await(ctx context.Context, client kubernetes.Interface, slow func(error)) error {
	ticker := time.NewTicker(needPoll)
	defer ticker.Stop()
	slowTick := time.NewTicker(needLogged)
	defer slowTick.Stop()
	for {
		err := n.there(ctx, client)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-slowTick.C:
			slow(fmt.Errorf("%s: %w", n.what, err))
		case <-ticker.C:
		}
	}
}

// awaitNeeds returns when all that users' first objects need is there.
func (r *run) awaitNeeds(ctx context.Context) error {
	if err := awaitAPI(ctx, r.client); err != nil {
		return err
	}
	return r.await(ctx, r.needs())
}

func (r *run) await(ctx context.Context, needs []need) error {
	for _, n := range needs {
		err := n.await(ctx, r.client, func(err error) { r.Log.Warn("the cluster is not ready yet", "err", err) })
		if err != nil {
			return err
		}
	}
	return nil
}

// restTime is how long after the start the memory that only the start needs is given
// back. Until then the collector leaves the processors to the first pods.
const restTime = 5 * time.Second

// lateTimers is how late timers may be at rest. About 190 work queues update their metrics twice a second.
// With 10 ms the kernel wakes the process once for several of them. Nobody notices 10 ms in what a timer begins.
const lateTimers = 10 * time.Millisecond

// tellReady waits until the cluster can be used, and its node is registered, and says
// so.
func (r *run) tellReady(ctx context.Context, registered <-chan struct{}) {
	if err := r.awaitNeeds(ctx); err != nil {
		return // it ends
	}
	select {
	case <-ctx.Done():
		return
	case <-registered:
	}
	r.step("ready")
	time.AfterFunc(restTime, func() {
		context.AfterFunc(ctx, footprint.NewPace().Stop)
		footprint.GiveBack()
		if err := footprint.LateTimers(lateTimers); err != nil {
			r.Log.Warn("the cluster takes more of the processor at rest than it could", "err", err)
		}
	})
	r.readyCalled.Store(true)
	there := Ready{Kubeconfig: r.file("kubeconfig"), Server: r.url(), Took: time.Since(r.began)}
	if r.runs(nodePart) {
		there.Node = r.Node
	}
	r.ready(there)
}
