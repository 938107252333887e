package token

import (
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"github.com/lifepod/lifepod/node/join"
)

// Group is whom a machine with a token belongs to.
const Group = "system:bootstrappers:kubeadm:default-node-token"

const nodesGroup = "system:nodes"

// groupsRole lets nodes see how far the groups are that their pods take part in (B-GRP-14).
const groupsRole = "lifepod:groups"

func clusterRoles() []*rbacv1.ClusterRole {
	return []*rbacv1.ClusterRole{{
		ObjectMeta: metav1.ObjectMeta{Name: "kubeadm:get-nodes"}, // whether the name is in use
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"nodes"}}},
	}, {
		ObjectMeta: metav1.ObjectMeta{Name: groupsRole},
		Rules:      []rbacv1.PolicyRule{{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"jobset.x-k8s.io"}, Resources: []string{"jobsets"}}},
	}}
}

func clusterRoleBindings() []*rbacv1.ClusterRoleBinding {
	const approval = "system:certificates.k8s.io:certificatesigningrequests:"
	var list []*rbacv1.ClusterRoleBinding
	for _, b := range []struct{ name, role, group string }{
		{"kubeadm:get-nodes", "kubeadm:get-nodes", Group},
		{"kubeadm:kubelet-bootstrap", "system:node-bootstrapper", Group},
		{"lifepod:node-proxier", "system:node-proxier", nodesGroup}, // lifepod join is the proxy, too
		{groupsRole, groupsRole, nodesGroup},
		{"kubeadm:node-autoapprove-bootstrap", approval + "nodeclient", Group},
		{"kubeadm:node-autoapprove-certificate-rotation", approval + "selfnodeclient", nodesGroup},
	} {
		list = append(list, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: b.name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: b.role},
			Subjects:   []rbacv1.Subject{group(b.group)},
		})
	}
	return list
}

// Names of the two ConfigMaps' roles are those of kubeadm.
const (
	clusterInfoRole = "kubeadm:bootstrap-signer-clusterinfo"
	nodeConfigRole  = "kubeadm:kubelet-config"
)

func roles() []*rbacv1.Role {
	read := func(namespace, name, configMap string) *rbacv1.Role {
		return &rbacv1.Role{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			Rules: []rbacv1.PolicyRule{{
				Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{configMap},
			}},
		}
	}
	return []*rbacv1.Role{
		read(metav1.NamespacePublic, clusterInfoRole, bootstrapapi.ConfigMapClusterInfo),
		read(metav1.NamespaceSystem, nodeConfigRole, NodeConfigMap),
		read(metav1.NamespaceSystem, join.NetworkConfigMap, join.NetworkConfigMap),
	}
}

func roleBindings() []*rbacv1.RoleBinding {
	bind := func(namespace, name string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
		return &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
			Subjects:   subjects,
		}
	}
	anonymous := rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "system:anonymous"}
	return []*rbacv1.RoleBinding{
		bind(metav1.NamespacePublic, clusterInfoRole, anonymous),
		bind(metav1.NamespaceSystem, nodeConfigRole, group(nodesGroup), group(Group)),
		bind(metav1.NamespaceSystem, join.NetworkConfigMap, group(nodesGroup), group(Group)),
	}
}

func group(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
}
