// Package token lets machines join a cluster by bootstrap tokens, as kubeadm does:
// what the API server has to have for it ([Prepare]), and the commands that make,
// list and delete tokens ([NewCommand]).
//
// A token lets a machine read the cluster's address and authority (the ConfigMap
// cluster-info, signed with each token), the configuration of nodes (kubelet-config),
// and ask for a client certificate, which the certificate controllers of the cluster
// approve and sign. Names and groups are kubeadm's, so that plain kubelets join with
// the same tokens, and kubeadm token create makes ones that work here.
package token
