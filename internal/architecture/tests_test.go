package architecture

import (
	"os/exec"
	"strings"
	"testing"
)

// TestPrograms: the tests of each package are a program, which is linked anew after a change of whatever it imports. Those of a
// small package belong to the package above it, or to one that uses it.
func TestPrograms(t *testing.T) {
	command := exec.Command("go", "list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}", module+"/...")
	command.Dir = "../.."
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	if programs := len(strings.Fields(string(out))); programs < 10 || programs > 80 {
		t.Errorf("%d packages have tests: at most 80", programs)
	}
}
