package client

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// account is a user with groups, as the OCI runtime's configuration has it.
type account struct {
	UID    uint32   `json:"uid"`
	GID    uint32   `json:"gid"`
	Groups []uint32 `json:"additionalGids,omitempty"`
}

// files reads small files of a container.
type files interface {
	ReadFile(path string) ([]byte, error)
}

// userOf is USER[:GROUP], each a name of the container's or a number. Without a group it has those that the container's files give it.
// (github.com/moby/sys/user takes a number that it can't read for 0, root's.)
func userOf(container files, text string) (who account, err error) {
	name, group, grouped := strings.Cut(text, ":")
	passwd, passwdErr := container.ReadFile("/etc/passwd")
	entry := entryOf(passwd, name)
	switch {
	case name == "" || grouped && group == "":
		return who, fmt.Errorf("%q is no user: want USER[:GROUP], by name or number", text)
	case entry != nil:
		who.UID, name = number(entry[2]), entry[0]
		who.GID = number(entry[3])
	case !isNumber(name) && passwdErr != nil:
		return who, fmt.Errorf("user %q: %w", name, passwdErr)
	case !isNumber(name):
		return who, fmt.Errorf("the container's /etc/passwd has no user %q: want one of its, or a number", name)
	default:
		who.UID = number(name)
	}
	groups, groupErr := container.ReadFile("/etc/group")
	if !grouped {
		for line := range strings.Lines(string(groups)) {
			if f := strings.Split(strings.TrimSpace(line), ":"); len(f) == 4 && isNumber(f[2]) && slices.Contains(strings.Split(f[3], ","), name) {
				who.Groups = append(who.Groups, number(f[2]))
			}
		}
		return who, nil
	}
	switch entry := entryOf(groups, group); {
	case entry != nil:
		who.GID = number(entry[2])
	case isNumber(group):
		who.GID = number(group)
	case groupErr != nil:
		return who, fmt.Errorf("group %q: %w", group, groupErr)
	default:
		return who, fmt.Errorf("the container's /etc/group has no group %q: want one of its, or a number", group)
	}
	return who, nil
}

// entryOf is the line of a name, or else of a number, in /etc/passwd or /etc/group; nil: there is none that can be read.
func entryOf(file []byte, name string) (found []string) {
	for line := range strings.Lines(string(file)) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) < 4 || !isNumber(f[2]) || len(f) > 4 && !isNumber(f[3]) {
			continue
		}
		if f[0] == name {
			return f
		}
		if f[2] == name && found == nil {
			found = f
		}
	}
	return found
}

func isNumber(text string) bool {
	_, err := strconv.ParseUint(text, 10, 31)
	return err == nil
}

func number(text string) uint32 {
	n, _ := strconv.ParseUint(text, 10, 31)
	return uint32(n)
}

// processLike is the process of a container's configuration, but for its user, command and terminal.
func processLike(config []byte, who account, command []string, terminal bool) ([]byte, error) {
	var spec struct{ Process map[string]any }
	in := json.NewDecoder(bytes.NewReader(config))
	in.UseNumber() // limits are larger than a float holds
	if err := in.Decode(&spec); err != nil {
		return nil, fmt.Errorf("read the container's configuration: %w", err)
	}
	spec.Process["user"], spec.Process["args"], spec.Process["terminal"] = who, command, terminal
	return json.Marshal(spec.Process)
}
