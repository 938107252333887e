package bundle

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
)

// containerd's configuration has the runtime handlers below runtimePlugin. A drop-in of
// version 2 has them below runtimePluginOld, where containerd ignores them.
const (
	runtimePlugin    = "io.containerd.cri.v1.runtime"
	runtimePluginOld = "io.containerd.grpc.v1.cri"
	runcShim         = "io.containerd.runc.v2"
)

// DropIns is where the user extends containerd's configuration by *.toml files, such as
// by a runtime handler, read in the order of their names.
func (p Paths) DropIns() string { return filepath.Join(p.Root, "containerd.d") }

// addDropIns merges the user's drop-ins into the configuration. What lifepod says there
// they can't say.
func addDropIns(config table, p Paths, systemd bool) error {
	files, err := filepath.Glob(filepath.Join(p.DropIns(), "*.toml"))
	if err != nil {
		return fmt.Errorf("find drop-ins of containerd's configuration: %w", err)
	}
	added := table{}
	for _, file := range files { // in the order of their names
		fields, err := readDropIn(file)
		if err == nil {
			err = conflicts(config, fields)
		}
		if err != nil {
			return fmt.Errorf("drop-in of containerd's configuration %s: %w", file, err)
		}
		merge(added, fields)
	}
	merge(config, added)
	completeHandlers(config, p, systemd)
	return nil
}

func readDropIn(file string) (table, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var fields table
	if err := toml.Unmarshal(text, &fields); err != nil {
		if at, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, column := at.Position()
			return nil, fmt.Errorf("line %d, column %d: %w", line, column, err)
		}
		return nil, err
	}
	if version, said := fields["version"]; said && version != int64(3) && version != int64(4) {
		return nil, fmt.Errorf("version = %v: want 3 or 4", version)
	}
	delete(fields, "version")
	if _, old := inner(inner(fields, "plugins"), runtimePluginOld)["containerd"]; old {
		return nil, fmt.Errorf("plugins.'%s'.containerd is of version 2, and has no effect: want plugins.'%s'.containerd", runtimePluginOld, runtimePlugin)
	}
	return fields, nil
}

// inner is the table of a key; nil if there is none.
func inner(of table, key string) table {
	t, _ := of[key].(table)
	return t
}

// conflicts is an error that names what both tables say.
func conflicts(ours, theirs table) error {
	var errs []error
	var compare func(ours, theirs table, path []string)
	compare = func(ours, theirs table, path []string) {
		for _, key := range slices.Sorted(maps.Keys(theirs)) {
			here := append(slices.Clone(path), quoted(key))
			value, both := ours[key]
			if !both {
				continue
			}
			above, isTable := value.(table)
			below, areTables := theirs[key].(table)
			if isTable && areTables {
				compare(above, below, here)
				continue
			}
			errs = append(errs, fmt.Errorf("%s: lifepod says that itself: leave it out", strings.Join(here, ".")))
		}
	}
	compare(ours, theirs, nil)
	return errors.Join(errs...)
}

// quoted is a key as it is written in TOML.
func quoted(key string) string {
	if strings.Contains(key, ".") {
		return "'" + key + "'"
	}
	return key
}

// merge puts the fields of one table into another.
func merge(into, from table) {
	for key, value := range from {
		below, isTable := value.(table)
		if !isTable {
			into[key] = value
			continue
		}
		above, isTable := into[key].(table)
		if !isTable {
			above = table{}
			into[key] = above
		}
		merge(above, below)
	}
}

// completeHandlers gives handlers of runc's shim what they don't say themselves: the
// programs and folders of the handler runc.
func completeHandlers(config table, p Paths, systemd bool) {
	handlers := inner(inner(inner(inner(config, "plugins"), runtimePlugin), "containerd"), "runtimes")
	for name := range handlers {
		handler := inner(handlers, name)
		if handler == nil || handler["runtime_type"] != runcShim {
			continue
		}
		complete := runcHandler(p, systemd)
		if own := handler["runtime_path"]; own != nil { // another shim may have other options
			complete = table{"sandboxer": complete["sandboxer"]}
		}
		merge(complete, handler)
		handlers[name] = complete
	}
}
