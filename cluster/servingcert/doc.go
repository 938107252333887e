// Package servingcert approves the certificates with which nodes serve their API
// (port 10250), so that the API server can verify whom it asks for logs and figures.
// Kubernetes has a signer for them and leaves the approval to others.
//
// A node gets a certificate for itself only: for its name and for the address that its
// Node has and that it asks from, and never for those of an API server, of another node, of Services or of
// pods, since all certificates come from one authority, and whoever trusts it would
// believe a node that showed the API server's address. What a Node says of itself, the
// node has written: no other name than the Node's own is believed.
package servingcert
