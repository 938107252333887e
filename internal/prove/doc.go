// Package prove holds lifepod against bugs that the kubelet has or had. For each bug,
// bugs.yaml has a mistake that makes lifepod follow the kubelet's rule, and the test that
// shows what comes of it: the test fails with the mistake, and passes without.
//
// The table of all is docs/reports/kubelet-bugs.md.
//
// batch.go makes mistakes in Go packages and finds out whether their tests notice. A
// mistake goes to the compiler by `go test -overlay`, so that the files of the tree stay as
// they are.
package prove
