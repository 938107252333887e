// Package manifest reads what a user of lifepod run writes: one Pod and the ConfigMaps and Secrets
// that it uses, in YAML or JSON, in any number of files and documents. What Read returns is what a
// Kubernetes 1.36 API server would have stored on create: defaulted, validated, with the metadata
// that a server adds (contract rules A-API-1 to A-API-5).
//
// The way through the package, in order:
//
//	split      bytes of a file      → documents, each with its place in the file (document.go)
//	parse      a document           → a generic object; size limits, duplicate keys (parse.go, limits.go)
//	objects    a generic object     → the objects of it, lists taken apart (object.go)
//	tidy       forms that are found in the wild but not in the API (tidy.go)
//	decode     a generic object    → its Go type; unknown fields, wrong types (decode.go)
//	support    Pod                  → fields that lifepod run refuses or ignores (support.go)
//	admit      Pod, ConfigMap, Secret → as stored by an API server (admit.go)
//	references Pod × objects        → missing ConfigMaps, Secrets and keys (references.go)
//
// Whatever is wrong is told as an Error: file, line, document, field, problem, and what would be right.
// This package and those below cluster/ are the only ones that import k8s.io/kubernetes.
package manifest
