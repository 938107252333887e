// Package backup saves a cluster into one file, and makes a cluster of such a file.
//
// A backup is a tar archive, compressed with zstd: first manifest.json, which says
// what follows with the SHA-256 of each file, then etcd.db, a snapshot of etcd, and
// the files of the data folder: the keys (data/pki/…), without which a restored
// cluster would have other certificates and could not read the tokens of its service
// accounts, its ports and range of service addresses, and the manifests of add-ons.
// Volumes are not in it, nor are images. A backup is as secret as the cluster's keys: files have
// mode 0600.
//
// A restored etcd goes on at a revision far above that of the backup, and says of
// all before it that they are compacted, so that clients that have seen what the
// backup does not have list everything again (etcd's --bump-revision and
// --mark-compacted, as its documentation asks of those who restore Kubernetes).
package backup
