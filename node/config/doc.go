// Package config reads the node's KubeletConfiguration (kubelet.config.k8s.io/v1beta1):
// a file and a folder of drop-ins, with the kubelet's defaults, strictly.
//
//	c, err := config.Load("/var/lib/kubelet/config.yaml", "/etc/kubernetes/kubelet.conf.d")
//	c.Kubelet    the typed, defaulted, validated configuration
//	c.Set("port") whether a file says it, or it is the default
//	c.Warning()  one sentence about all that is set and not supported; "" for none
//
// An unknown or repeated field, a value of the wrong type and an invalid one are
// errors that name file and field; unlike the kubelet, which then decodes again
// leniently, nothing is overlooked. What every field means to lifepod is in the
// table of fields.go, what every feature gate of 1.37 means in gates_table.go; tests
// hold both against the Kubernetes sources, so that no field is dropped silently.
//
// Merging is the kubelet's: the file with its defaults, then each *.conf of the
// folder in the order of its path, as a JSON merge patch (RFC 7386): maps merge,
// lists are replaced, null gives a field its default again. A relative path is
// relative to the file that names it. A file may have another one below it (LoadOver),
// such as the cluster's below the machine's own.
package config
