// Package proxy is the service traffic of a node: what kube-proxy does, by kube-proxy's
// own nftables proxier, in this process and on the cluster's shared informers. A change
// of a Service or of its EndpointSlices is in the kernel one transaction of nft later;
// nothing is done while nothing changes.
//
// Each root has an nftables table of its own, so that several clusters, or a kube-proxy
// of another one, can be on the same machine as long as their service ranges differ.
// The table stays when Run ends, because the pods run on; Remove removes it.
//
// Only IPv4 is served, as the pod network of the bundle has no other. Times and
// limits of connection tracking are kube-proxy's defaults, but no limit is lowered.
package proxy
