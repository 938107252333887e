// Package volumes makes a pod's volumes on the host and says what to mount into
// its containers (contract A-VOL).
//
// Everything lives in the pod's folder, laid out as Kubernetes does (A-VOL-1):
//
//	volumes/kubernetes.io~empty-dir/<volume>
//	volumes/kubernetes.io~configmap/<volume>
//	volumes/kubernetes.io~secret/<volume>       a tmpfs, so that no secret reaches a disk
//	volumes/kubernetes.io~projected/<volume>    a tmpfs too, as are downward-api volumes
//	volumes/kubernetes.io~local-volume/<name>   a bind mount, by the name of the persistent volume
//	volume-subpaths/<volume>/<container>/<n>    a bind mount each
//	claims/<volume>.json                        what a claim is bound to; Kubernetes has no such file
//
// Prepare may be called again at any time: it finishes what was interrupted and
// brings ConfigMaps and Secrets up to date, also where a kubelet has made them; what
// can't be asked of the API server for now stays as it was.
// Remove undoes everything, also after a kill -9, from what the kernel and the disk
// have; no other record is kept.
package volumes
