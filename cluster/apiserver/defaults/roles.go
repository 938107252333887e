package defaults

import (
	"context"
	"errors"
	"fmt"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// makeRoles makes the roles and bindings that every cluster has, and gives to those that
// are there what they lack. It does as much of it as it can.
func makeRoles(ctx context.Context, client kubernetes.Interface) error {
	there, err := listRoles(ctx, client)
	if err != nil {
		return err
	}
	if err := there.migrate(ctx, client); err != nil {
		return err
	}
	return reconcileAll(append(there.ofCluster(client), ofNamespaces(client)...))
}

// ofCluster are the tasks for roles and bindings of the whole cluster.
func (c clusterRoles) ofCluster(client kubernetes.Interface) (list []task) {
	for _, role := range append(bootstrappolicy.ClusterRoles(), bootstrappolicy.ControllerRoles()...) {
		list = append(list, reconcileRole("ClusterRole", reconciliation.ClusterRoleRuleOwner{ClusterRole: &role},
			c.modifyRole(role.Name, client)))
	}
	for _, binding := range append(bootstrappolicy.ClusterRoleBindings(), bootstrappolicy.ControllerRoleBindings()...) {
		list = append(list, reconcileBinding("ClusterRoleBinding", reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &binding},
			c.modifyBinding(binding.Name, client)))
	}
	return list
}

// ofNamespaces are those for roles and bindings of the system's namespaces.
func ofNamespaces(client kubernetes.Interface) (list []task) {
	rbac, namespaces := client.RbacV1(), client.CoreV1().Namespaces()
	for _, roles := range bootstrappolicy.NamespaceRoles() {
		for _, role := range roles {
			list = append(list, reconcileRole("Role", reconciliation.RoleRuleOwner{Role: &role},
				reconciliation.RoleModifier{Client: rbac, NamespaceClient: namespaces}))
		}
	}
	for _, bindings := range bootstrappolicy.NamespaceRoleBindings() {
		for _, binding := range bindings {
			list = append(list, reconcileBinding("RoleBinding", reconciliation.RoleBindingAdapter{RoleBinding: &binding},
				reconciliation.RoleBindingClientAdapter{Client: rbac, NamespaceClient: namespaces}))
		}
	}
	return list
}

// task makes one role or binding what it has to be.
type task func() error

func reconcileRole(kind string, role reconciliation.RuleOwner, client reconciliation.RuleOwnerModifier) task {
	return func() error {
		o := reconciliation.ReconcileRoleOptions{Role: role, Client: client, Confirm: true}
		result, err := o.Run()
		if err != nil {
			return fmt.Errorf("reconcile %s %s: %w", kind, role.GetName(), err)
		}
		if result.Protected && result.Operation != reconciliation.ReconcileNone {
			klog.Warningf("%s %s is protected from being reconciled and lacks rules: %v", kind, role.GetName(), result.MissingRules)
		}
		return nil
	}
}

func reconcileBinding(kind string, binding reconciliation.RoleBinding, client reconciliation.RoleBindingModifier) task {
	return func() error {
		o := reconciliation.ReconcileRoleBindingOptions{RoleBinding: binding, Client: client, Confirm: true}
		result, err := o.Run()
		if err != nil {
			return fmt.Errorf("reconcile %s %s: %w", kind, binding.GetName(), err)
		}
		if result.Protected && result.Operation != reconciliation.ReconcileNone {
			klog.Warningf("%s %s is protected from being reconciled and lacks subjects: %v", kind, binding.GetName(), result.MissingSubjects)
		}
		return nil
	}
}

// atOnce is how many are written at the same time: etcd syncs the disk once for several.
const atOnce = 8

// reconcileAll does all tasks, whichever of them fail.
func reconcileAll(tasks []task) error {
	errs := make([]error, len(tasks))
	slots := make(chan struct{}, atOnce)
	var running sync.WaitGroup
	for i, t := range tasks {
		slots <- struct{}{}
		running.Go(func() {
			errs[i] = retry.OnError(retry.DefaultBackoff, passes, t)
			<-slots
		})
	}
	running.Wait()
	return errors.Join(errs...)
}

// passes says of errors that they may be over in a moment.
func passes(err error) bool { return apierrors.IsConflict(err) || apierrors.IsServiceUnavailable(err) }

// clusterRoles are the roles and bindings of the whole cluster that there are, by name.
type clusterRoles struct {
	roles    map[string]*rbacv1.ClusterRole
	bindings map[string]*rbacv1.ClusterRoleBinding
}

func listRoles(ctx context.Context, client kubernetes.Interface) (clusterRoles, error) {
	there := clusterRoles{roles: map[string]*rbacv1.ClusterRole{}, bindings: map[string]*rbacv1.ClusterRoleBinding{}}
	roles, err := client.RbacV1().ClusterRoles().List(ctx, metav1.ListOptions{})
	if err != nil {
		return there, fmt.Errorf("list ClusterRoles: %w", err)
	}
	for _, role := range roles.Items {
		there.roles[role.Name] = &role
	}
	bindings, err := client.RbacV1().ClusterRoleBindings().List(ctx, metav1.ListOptions{})
	if err != nil {
		return there, fmt.Errorf("list ClusterRoleBindings: %w", err)
	}
	for _, binding := range bindings.Items {
		there.bindings[binding.Name] = &binding
	}
	return there, nil
}
