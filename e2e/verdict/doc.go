// Package verdict runs a package's tests so that the last lines of the output say
// what failed. The logs and states by which a failure is understood are long, and
// the tests that failed are told among them; whoever sees only the end of a CI run
// should see which assertion it was.
//
//	func TestMain(m *testing.M) {
//		os.Exit(verdict.Run(m, func() { show logs }))
//	}
package verdict
