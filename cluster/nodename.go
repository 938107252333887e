package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifepod/lifepod/internal/wholefile"
	"github.com/lifepod/lifepod/node/register"
)

// nodeNameFile has the name of this machine's node.
const nodeNameFile = "node"

// nameNode names this machine's node: as it was called before, or as it is asked for, or
// as the machine. A Node of another name would be another node, and the pods of this
// one nobody's: they would be ended. anew says how another name can be had.
func (l *layout) nameNode(flag, anew string) error {
	before, err := l.nodeBefore()
	if err != nil {
		return err
	}
	given := l.Node != ""
	name, err := nodeName(l.Node, flag)
	if err != nil && (given || before == "") {
		return err
	}
	if l.Node = name; before == "" {
		return nil
	}
	if given && name != before {
		return fmt.Errorf("%s %s: this machine's node is called %s (%s), and another one would end its pods: leave the flag out, or %s",
			flag, name, before, l.file(nodeNameFile), anew)
	}
	if name != before {
		l.renamed = name
	}
	l.Node = before
	return nil
}

// nodeName is the name that a flag gives, or the machine's. One that the API server
// refuses would be a cluster without a node.
func nodeName(given, flag string) (string, error) {
	name, err := register.Hostname(given)
	if err != nil {
		return "", fmt.Errorf("name of the node: %w", err)
	}
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return name, fmt.Errorf("name of the node %q: %s: give another with %s", name, strings.Join(wrong, ", "), flag)
	}
	return name, nil
}

// nodeBefore is the node's name at the last start; empty: there was none.
func (l *layout) nodeBefore() (string, error) {
	text, err := os.ReadFile(l.file(nodeNameFile))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("name of the node: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// rememberNode has the next start find the name.
func (l *layout) rememberNode() error {
	if l.renamed != "" {
		l.Log.Warn("the machine's name has changed; its node keeps the one that it has", "node", l.Node, "machine", l.renamed)
	}
	return wholefile.Write(l.file(nodeNameFile), []byte(l.Node+"\n"))
}

// newNode says how the cluster of this machine gets another node instead of its own.
func (l *layout) newNode() string {
	return fmt.Sprintf("end the pods with lifepod down, remove %s, and delete the old Node when the new one is there", l.file(nodeNameFile))
}
