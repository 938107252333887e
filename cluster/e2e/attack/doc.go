// Package attack tries as a tenant what a tenant must not do, on real containers, in namespaces of its own (inside): hostile
// values in every field that an API server accepts, after which the machine has to be as before, and a program with a
// container's default rights that tries to leave it (escape). `make attack` runs it; the seed that it prints repeats a run.
package attack
