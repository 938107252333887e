package defaults

import (
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

// listedRole answers the first question for a role by what a list has said, and asks the
// API server from then on.
type listedRole struct {
	reconciliation.RuleOwnerModifier
	there *rbacv1.ClusterRole // nil: there is none
	asked bool
}

func (c clusterRoles) modifyRole(name string, client kubernetes.Interface) reconciliation.RuleOwnerModifier {
	return &listedRole{RuleOwnerModifier: reconciliation.ClusterRoleModifier{Client: client.RbacV1().ClusterRoles()}, there: c.roles[name]}
}

func (l *listedRole) Get(namespace, name string) (reconciliation.RuleOwner, error) {
	switch {
	case l.asked:
		return l.RuleOwnerModifier.Get(namespace, name)
	case l.there == nil:
		l.asked = true
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterroles"), name)
	}
	l.asked = true
	return reconciliation.ClusterRoleRuleOwner{ClusterRole: l.there}, nil
}

type listedBinding struct {
	reconciliation.RoleBindingModifier
	there *rbacv1.ClusterRoleBinding
	asked bool
}

func (c clusterRoles) modifyBinding(name string, client kubernetes.Interface) reconciliation.RoleBindingModifier {
	return &listedBinding{RoleBindingModifier: reconciliation.ClusterRoleBindingClientAdapter{Client: client.RbacV1().ClusterRoleBindings()}, there: c.bindings[name]}
}

func (l *listedBinding) Get(namespace, name string) (reconciliation.RoleBinding, error) {
	switch {
	case l.asked:
		return l.RoleBindingModifier.Get(namespace, name)
	case l.there == nil:
		l.asked = true
		return nil, apierrors.NewNotFound(rbacv1.Resource("clusterrolebindings"), name)
	}
	l.asked = true
	return reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: l.there}, nil
}
