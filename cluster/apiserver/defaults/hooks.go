package defaults

import (
	"context"
	"fmt"
	"slices"
	"time"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/apis/rbac"
	"k8s.io/kubernetes/pkg/apis/scheduling"
	rbacrest "k8s.io/kubernetes/pkg/registry/rbac/rest"
	schedulingrest "k8s.io/kubernetes/pkg/registry/scheduling/rest"
)

// What upstream's API server makes in each cluster, which its readiness waits for. Its
// own hooks wait a second before they try for the first time. Ours, of the same names
// and with the same result, begin at once.
var promptHooks = []promptHook{
	{name: rbacrest.PostStartHookName, group: rbac.GroupName, make: makeRoles},
	{name: schedulingrest.PostStartHookName, group: scheduling.GroupName, make: makePriorityClasses},
}

// promptHook takes the place of a hook of an API group.
type promptHook struct {
	name, group string
	make        func(context.Context, kubernetes.Interface) error
}

// How soon a hook tries again, and for how long: as long as upstream's.
const (
	hookInterval = 100 * time.Millisecond
	hookTimeout  = 30 * time.Second
)

// Checks are the checks of /readyz that wait for what every cluster has to be there.
func Checks() (names []string) {
	for _, h := range promptHooks {
		names = append(names, "poststarthook/"+h.name)
	}
	return names
}

// run is the hook. An error ends the process.
func (h promptHook) run(ctx genericapiserver.PostStartHookContext) error {
	client, err := kubernetes.NewForConfig(ctx.LoopbackClientConfig)
	if err != nil {
		return err
	}
	var failure error
	err = wait.PollUntilContextTimeout(ctx, hookInterval, hookTimeout, true, func(ctx context.Context) (bool, error) {
		if failure = h.make(ctx, client); failure != nil {
			utilruntime.HandleErrorWithContext(ctx, failure, "Hook has to try again", "hook", h.name)
		}
		return failure == nil, nil
	})
	if err != nil && ctx.Err() == nil { // else the server ends
		return fmt.Errorf("hook %s: %w", h.name, failure)
	}
	return nil
}

// Hooks are those of upstream's that a chain of servers is made without.
type Hooks struct {
	config *genericapiserver.CompletedConfig // whose set of disabled hooks all servers of the chain share
	hooks  []promptHook
}

// Take is called before the chain is made.
func Take(config *genericapiserver.CompletedConfig) Hooks {
	taken := Hooks{config: config}
	for _, h := range promptHooks {
		if disabled := config.DisabledPostStartHooks; !disabled.Has(h.name) {
			disabled.Insert(h.name)
			taken.hooks = append(taken.hooks, h)
		}
	}
	return taken
}

// Replace gives ours to the server that has the chain's hooks and checks of health. kube
// serves Kubernetes' own APIs.
func (t Hooks) Replace(front, kube *genericapiserver.GenericAPIServer) error {
	served := kube.ListedPaths()
	for _, h := range t.hooks {
		t.config.DisabledPostStartHooks.Delete(h.name)
		if !slices.Contains(served, "/apis/"+h.group) { // --runtime-config has turned it off
			continue
		}
		if err := front.AddPostStartHook(h.name, h.run); err != nil {
			return err
		}
	}
	return nil
}
