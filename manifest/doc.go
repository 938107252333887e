// Package manifest reads what a user of lifepod run writes: Pods, or what controllers make them of, and the ConfigMaps, Secrets,
// PersistentVolumeClaims and RuntimeClass that they use, in YAML or JSON, in any number of files and documents. What Read, of one Pod,
// and ReadAll return is what a
// Kubernetes 1.37 API server would have stored on create: defaulted, validated, with the metadata
// that a server adds (contract rules A-API-1 to A-API-5).
//
// The way through the package, in order:
//
//	split       a file into documents, each with its place in the file (document.go)
//	parse       a document into a generic object; syntax, size, duplicate keys (parse.go, limits.go)
//	objects     a list into the objects of it; kinds (object.go)
//	tidy        forms found in the wild that are not in the API (tidy.go)
//	workloads   what controllers make Pods of (workload.go, job.go, workload_table.go), and what is passed over (passedover.go)
//	decode      a generic object into its Go type; unknown fields, wrong types (decode.go)
//	support     fields that lifepod run refuses or ignores (support.go, support_table.go)
//	admit       defaults and validation, as an API server does on create (admit.go)
//	static      the same for the manifests of static pods, as the kubelet makes Pods of them (static.go, staticdata.go)
//	references  ConfigMaps, Secrets and keys that a Pod names and that are missing (references.go, resolve.go)
//
// Whatever is wrong is reported as an Error: file, line, document, field, problem, and what would be right.
//
// What is not to the letter of the API, and read all the same, each with a warning:
//
//   - The output of kubectl get pod -o yaml: status, spec.nodeName, the metadata and the volume for the
//     service account that a cluster adds are dropped. There is no API server for that account to talk to.
//   - restartPolicyRules with onExit: {exitCodes: …}, a draft's form that published examples use.
//   - Fields without a meaning on one machine, such as nodeSelector (see fieldSupport).
//   - Pull secrets that are missing; the kubelet tries without, too.
//
// A ConfigMap or Secret without a namespace belongs to the Pods', as it would by kubectl -n.
//
// This package and those below cluster/ are the only ones that import k8s.io/kubernetes.
package manifest
