// Package dns is the cluster's DNS, in this process: CoreDNS' plugins kubernetes,
// cache and forward, put together without its server and its configuration file, on the
// cluster's shared informers. Names are those of the Kubernetes DNS specification
// 1.1.0, with records for any pod address ("pods insecure") as kubeadm has them.
//
// It listens on the machine's own address and a port of its own, so that it doesn't
// clash with a resolver of the machine; the Service kube-system/kube-dns, whose
// EndpointSlice of each server names that port, is where pods of all nodes find it.
//
// Names outside of the cluster are asked of the servers in the machine's resolv.conf,
// which is read again when it has changed. A stub on a loopback address, such as
// systemd-resolved's 127.0.0.53, is used as it is: this process, unlike a pod, reaches
// it, and it knows which server is right for which name.
//
// Where there are several servers, each is an endpoint of the Service as long as its
// node is ready; the others see to that.
//
// Machines that are neither in a private network nor nodes are refused, so that a
// machine with a public address isn't a resolver for the world.
package dns
