// Package join connects a node with its cluster: the credentials with which it asks
// the API server, how it gets them, and the certificate with which it serves its own
// API. Files and requests are the kubelet's, so that either can go on where the other
// stopped: <cert-dir>/kubelet-client-<date>.pem with the link kubelet-client-current.pem,
// kubelet-client.key.tmp while a first certificate is awaited, kubelet-server-…  for
// serving, kubelet.crt and kubelet.key for a self-signed serving certificate.
//
// As a client:
//
//	c, err := join.Join(join.Options{Kubeconfig: …, BootstrapKubeconfig: …, CertDir: …, NodeName: …})
//	go c.Run(ctx)         // bootstraps, rotates, watches the files; returns when ctx ends
//	client := kubernetes.NewForConfig(c.Config)
//	<-c.Joined()          // closed as soon as there are credentials
//
// Join reads files and asks nobody. Config works at once and stays the same value:
// before there are credentials its requests fail with ErrNotJoined, and when
// credentials change (a rotation, another kubeconfig, renewed files) connections with
// the old ones are closed and requests go on with the new ones. An unreadable new file
// is logged and changes nothing. Only the server's address is read once.
//
// A kubeconfig that isn't there, cannot be read or has an expired client certificate is
// made anew where BootstrapKubeconfig is set. Without it an expired certificate is no
// reason not to start: static pods run, and a renewed file is taken up.
//
// Rotation (rotateCertificates) is client-go's certificate.Manager: a new certificate
// at 70 to 90 % of the old one's life. It needs a client certificate in the kubeconfig;
// tokens and exec plugins renew themselves.
//
// As a server:
//
//	s, err := join.NewServing(join.ServingOptions{Kubelet: …, CertDir: …, NodeName: …, Client: …})
//	go s.Run(ctx)
//	s.SetAddresses(node.Status.Addresses)  // whenever they change
//	tls.Listen("tcp", ":10250", s.TLS())   // add ClientAuth and ClientCAs as needed
//
// The certificate is that of tlsCertFile (read again when it changes), or one that the
// cluster signs (serverTLSBootstrap: signer kubernetes.io/kubelet-serving, rotated, with
// the node's addresses), or a self-signed one.
//
// # Discover
//
// discover.go takes a machine into a cluster by a bootstrap token, as kubeadm
// join does: it finds out whether what answers at an address is the cluster that the
// token is of, reads how nodes of that cluster are configured, and writes down what
// the node needs ([Folder]). From then on package join gets the certificates.
//
//	cluster, err := join.Discover(ctx, join.Invitation{Server: …, Token: …, Hashes: …})
//	err = folder.Write(cluster, configuration)
//
// The address alone is not trusted. The ConfigMap kube-public/cluster-info, which
// anybody may read, has the cluster's certificate authority; it is believed if it is
// signed with the token (JWS) and, since every holder of a token can sign, if the
// authority's public key has a given digest: of several authorities only those whose
// digest is given are believed. It is then read once more through a
// connection that this authority vouches for, before the token is sent anywhere.
package join
