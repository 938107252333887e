// Package mutate makes mistakes in Go packages and finds out whether their tests notice. A
// mistake goes to the compiler by `go test -overlay`, so that the files of the tree stay as
// they are.
package mutate
