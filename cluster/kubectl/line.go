package kubectl

import (
	"errors"
	"slices"
	"strings"
)

// line is what was given behind "lifepod kubectl".
type line struct {
	root       string // of --root, which is not kubectl's
	kubeconfig bool   // is given
	args       []string
}

// parse takes --root out. What is behind -- is a container's.
func parse(args []string) (line, error) {
	var l line
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		switch {
		case name == "--":
			l.args = append(l.args, args[i:]...)
			return l, nil
		case name == "--root" && joined:
			l.root = value
			continue
		case name == "--root" && i+1 == len(args):
			return l, errors.New("--root: want a folder")
		case name == "--root":
			i++
			l.root = args[i]
			continue
		case name == "--kubeconfig":
			l.kubeconfig = true
		}
		l.args = append(l.args, args[i])
	}
	return l, nil
}

// offline says whether kubectl does without a cluster.
func (l line) offline() bool {
	own := l.args
	if i := slices.Index(own, "--"); i >= 0 {
		own = own[:i]
	}
	if len(own) == 0 || slices.Contains(own, "--help") || slices.Contains(own, "-h") {
		return true
	}
	switch own[0] {
	case "help", "completion", "__complete", "__completeNoDesc", "options", "kustomize", "config":
		return true
	case "version":
		return slices.Contains(own, "--client") || slices.Contains(own, "--client=true")
	}
	return false
}
