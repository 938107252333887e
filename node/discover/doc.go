// Package discover takes a machine into a cluster by a bootstrap token, as kubeadm
// join does: it finds out whether what answers at an address is the cluster that the
// token is of, reads how nodes of that cluster are configured, and writes down what
// the node needs ([Folder]). From then on package join gets the certificates.
//
//	cluster, err := discover.Discover(ctx, discover.Invitation{Server: …, Token: …, Hashes: …})
//	err = folder.Write(cluster, configuration)
//
// The address alone is not trusted. The ConfigMap kube-public/cluster-info, which
// anybody may read, has the cluster's certificate authority; it is believed if it is
// signed with the token (JWS) and, since every holder of a token can sign, if the
// authority's public key has a given digest: of several authorities only those whose
// digest is given are believed. It is then read once more through a
// connection that this authority vouches for, before the token is sent anywhere.
package discover
