// Package addons keeps a cluster in step with folders of manifests: what is in a
// file is applied at the start and when the file changes, by server-side apply with
// the field manager "lifepod-addons", and what is no longer in it is deleted.
//
// Each file is an ApplySet (KEP-3659) of its own. Its parent is a ConfigMap in
// kube-system, whose data says how it went; kubectl and other tools understand its
// labels. Nothing is deleted as long as a file can't be read or applied whole, as
// its folder can't be read, or is none of the folders any more.
//
// Types come before what needs them: in a file, Namespaces and
// CustomResourceDefinitions are applied first, and a file that can't be applied
// whole is tried again, ever less often. An error in one file hinders no other.
package addons
