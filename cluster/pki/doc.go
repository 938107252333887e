// Package pki keeps the keys of a cluster in a folder: its certificate
// authorities, the certificates that the API server shows and calls nodes with,
// the key that signs service account tokens, and the kubeconfig files of the
// administrator and of the node beside it.
//
// The authorities are made once. What they have signed is made again when it is
// about to expire or doesn't fit any more ([Folder.Refresh], and [Folder.Run] daily);
// whoever serves or calls with it reads the files again: the API server, and the node.
package pki
