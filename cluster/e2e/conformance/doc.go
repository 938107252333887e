// Package conformance runs Kubernetes' own conformance tests, the e2e.test of the version
// that lifepod is made of, against a cluster of two nodes: `lifepod up`, and `lifepod
// join` on another machine (a network namespace at the end of a cable). `make
// conformance` builds what it needs and runs it; it takes hours, so that CI doesn't.
//
// The images of the tests are made here, of Debian's packages and of upstream's sources,
// and served on loopback of both machines.
package conformance
