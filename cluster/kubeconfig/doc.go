// Package kubeconfig puts a cluster into the user's kubeconfig file, keeps it
// current there, and takes it out again. Other clusters, users and contexts stay as
// they are, and so do the file's mode and owner; comments are lost, as kubectl
// loses them.
package kubeconfig
