package defaults

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"
)

// migrate makes, of roles and bindings of older Kubernetes that users may have changed,
// those that have taken their place.
func (c clusterRoles) migrate(ctx context.Context, client kubernetes.Interface) error {
	for _, role := range c.unaggregated() {
		made, err := client.RbacV1().ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make ClusterRole %s: %w", role.Name, err)
		}
		if err == nil {
			c.roles[made.Name] = made
		}
	}
	for _, binding := range c.unsplit() {
		made, err := client.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("make ClusterRoleBinding %s: %w", binding.Name, err)
		}
		if err == nil {
			c.bindings[made.Name] = made
		}
	}
	return nil
}

// unaggregated are copies of roles that are made of others today, under the names of
// those, so that what users have added to them stays.
func (c clusterRoles) unaggregated() (copies []*rbacv1.ClusterRole) {
	for before, now := range bootstrappolicy.ClusterRolesToAggregate() {
		old := c.roles[before]
		if c.roles[now] != nil || old == nil || old.AggregationRule != nil {
			continue
		}
		role := old.DeepCopy()
		role.Name, role.ResourceVersion = now, ""
		copies = append(copies, role)
	}
	return copies
}

// unsplit are bindings whose subjects another binding had before.
func (c clusterRoles) unsplit() (copies []*rbacv1.ClusterRoleBinding) {
	for before, now := range bootstrappolicy.ClusterRoleBindingsToSplit() {
		old := c.bindings[before]
		if c.bindings[now.Name] != nil || old == nil {
			continue
		}
		binding := now.DeepCopy()
		binding.Subjects, binding.Labels, binding.Annotations = old.Subjects, old.Labels, old.Annotations
		copies = append(copies, binding)
	}
	return copies
}
