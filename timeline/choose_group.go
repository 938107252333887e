package timeline

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/lifepod/lifepod/internal/plain"
	"github.com/lifepod/lifepod/journal"
	"github.com/lifepod/lifepod/lifecycle"
)

// ChosenGroup is a group that a user means, whose pods restart as one.
type ChosenGroup struct {
	Name      string // of the JobSet, or of the label lifepod.dev/group-name; or namespace/name; empty: none is meant
	Namespace string // empty: all
}

// Check refuses a name that is none, and takes the namespace out of it.
func (g *ChosenGroup) Check() error {
	namespace, name, found := strings.Cut(g.Name, "/")
	if !found {
		return nil
	}
	if namespace == "" || name == "" {
		return fmt.Errorf("--group %s: want NAME or NAMESPACE/NAME", plain.Line(g.Name))
	}
	if g.Namespace != "" && g.Namespace != namespace {
		return fmt.Errorf("group %s is not in namespace %q: leave -n out", plain.Line(g.Name), g.Namespace)
	}
	g.Namespace, g.Name = namespace, name
	return nil
}

// From finds the records of the group's pods, also of those that are gone, and its namespace. An error names the nearest,
// if there is no such group.
func (g *ChosenGroup) From(source journal.Source) (namespace string, records []*journal.Record, err error) {
	records, err = Records(source, func(p *journal.Pod) bool {
		return (g.Namespace == "" || p.Namespace == g.Namespace) && slices.Contains(groupsOf(p), g.Name)
	})
	if err != nil {
		return "", nil, err
	}
	var namespaces []string
	for _, r := range records {
		if !slices.Contains(namespaces, r.Pod.Namespace) {
			namespaces = append(namespaces, r.Pod.Namespace)
		}
	}
	switch {
	case len(namespaces) == 0:
		return "", nil, g.none(source)
	case len(namespaces) > 1:
		return "", nil, fmt.Errorf("group %q is ambiguous: there is one in the namespaces %s; say which with -n",
			plain.Line(g.Name), plain.Line(strings.Join(namespaces, ", ")))
	}
	return namespaces[0], records, nil
}

// groupsOf are the names of the groups that a pod may be of: its JobSet's, and its own label's.
func groupsOf(p *journal.Pod) (names []string) {
	for _, label := range []string{lifecycle.JobSetLabel, lifecycle.GroupNameLabel} {
		if name := p.Labels[label]; name != "" {
			names = append(names, name)
		}
	}
	return names
}

// none says that no pod is of the group, and which one may be meant.
func (g *ChosenGroup) none(source journal.Source) error {
	text := fmt.Sprintf("no pod is of a group %q", plain.Line(g.Name))
	if g.Namespace != "" {
		text += fmt.Sprintf(" in namespace %q", g.Namespace)
	}
	pods, err := source.Pods()
	if err != nil && len(pods) == 0 {
		return err
	}
	var names []string
	for i := range pods {
		names = append(names, groupsOf(&pods[i])...)
	}
	if near := plain.Nearest(g.Name, names); near != "" {
		text += ": did you mean " + plain.Line(near) + "?"
	}
	return errors.New(text)
}

// Records are those of the pods that are meant. One that goes meanwhile is left out.
func Records(source journal.Source, meant func(*journal.Pod) bool) (list []*journal.Record, err error) {
	pods, err := source.Pods()
	if err != nil && len(pods) == 0 {
		return nil, err
	}
	for i := range pods {
		if !meant(&pods[i]) {
			continue
		}
		record, err := source.Read(pods[i].UID)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	return list, nil
}
