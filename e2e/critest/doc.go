// Command critest runs critest, the Kubernetes project's validation of container runtimes, against the
// runtime that lifepod carries, in a state folder of its own. `make critest` builds both.
//
// No registry of the Internet is asked for images. Those of the tests are made here, of busybox and of
// Debian's nginx, and served on loopback under the names that the tests have in them.
//
// What is skipped and what fails is listed in expected.txt, each with the reason; the command fails if a run
// differs from it. What can't be run here at all is left out by that list.
package main
