// Package pullsecret gives what opens registries beside the pods' secrets and the
// node's own files, which package worker/images reads: the credentials of exec
// plugins (credential providers, contract A-IMG-7), with tokens of service
// accounts if they ask for them (KEP-4412); and it keeps the records of who may
// use an image that is on the node (A-IMG-8, KEP-2535).
//
// Read and New make the Providers of agent/images, OpenRecords its Records.
package pullsecret
