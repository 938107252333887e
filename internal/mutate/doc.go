// Package mutate makes one-line mistakes in Go packages and finds out whether their tests
// notice. A mistake goes to the compiler by `go test -overlay`, so that the files of the
// tree stay as they are.
//
// Gremlins (github.com/go-gremlins/gremlins), which is well kept, changes operators only,
// copies the module for each worker, and does not say which test has failed. The mistakes
// that matter here are others: a planner that is skipped, two that change places, a
// decision that returns too early.
package mutate
