// Package servingcert approves the certificates with which nodes serve their API
// (port 10250), so that the API server can verify whom it asks for logs and figures.
// Kubernetes has a signer for them and leaves the approval to others.
//
// A node gets a certificate for itself only: for the addresses and names that its
// Node has, and never for those of the API server or of another node, since all
// certificates come from one authority, and whoever trusts it would believe a node
// that showed the API server's address.
package servingcert
