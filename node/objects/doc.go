// Package objects has what the pods of a node use from the API server: ConfigMaps
// and Secrets, tokens of service accounts, trust bundles, certificates of their own,
// and the volumes that claims are bound to.
//
// The Node authorizer lets a node read only single objects that its pods refer
// to. So there is a watch for each ConfigMap and Secret that a registered pod
// names, shared by all pods that name it and ended with the last of them. A watch
// ends sooner if the object is immutable, or if nobody has asked for it for some
// minutes and no volume shows it; asking for it begins the watch again.
//
// Nothing is polled: what changes, appears or falls due is reported with
// Options.Changed to each pod that it concerns, whose worker then asks again.
// While the API server is away, what was known last is given out.
//
// runtimeclass.go looks up the RuntimeClasses of the cluster (contract
// A-CRI-13). They are watched from the moment a pod names one: most nodes never
// see any.
//
// services.go makes the variables that tell a container where the Services
// of its namespace are (contract A-ENV-1, A-ENV-7). It watches the cluster's
// Services, and keeps of each no more than the variables need.
//
// records.go gets registry credentials from exec plugins (credential providers, contract
// A-IMG-7), with tokens of service accounts if they ask for them (KEP-4412). It also records
// which pods may use an image that is on the node (A-IMG-8, KEP-2535).
//
// ReadCredentialProviders and NewCredentialProviders make the Providers of package worker/images, OpenPullRecords its Records.
package objects
