// Package imageregistry serves images of programs that tests have built, from a registry on loopback: container runtimes
// pull them from there as from any other.
package imageregistry
