// Package images acts on container images through the CRI image service: it
// inspects, pulls with credentials, lists and removes them (contract A-IMG).
//
// It decides nothing about when to pull: pull policies and back-off are rules
// of the core in package lifecycle, which asks for an inspection or a pull and
// gets the outcome as data. What is decided here is how a pull is carried out:
// which credentials are tried and in which order, which pulls are one and the
// same, and what an error means.
package images
