package cluster

import (
	"fmt"
	"os"
	"strings"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/node/register"
)

// chooseNode names this machine's node: as it is asked for, as it was called before,
// or as the machine. A Node of another name would be another node, and the pods of
// this one nobody's.
func (l *layout) chooseNode() (err error) {
	file := l.file("node")
	if before, err := os.ReadFile(file); l.Node == "" && err == nil {
		l.Node = strings.TrimSpace(string(before))
	}
	if l.Node, err = register.Hostname(l.Node); err != nil {
		return fmt.Errorf("name of the node: %w", err)
	}
	return wholefile.Write(file, []byte(l.Node+"\n"))
}
