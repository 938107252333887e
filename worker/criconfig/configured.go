package criconfig

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// kubeletUser is who has the IDs of pods' users in /etc/subuid, if somebody does.
const kubeletUser = "kubelet"

// ConfiguredUserNamespaces are the blocks of a length in the IDs that /etc/subuid and /etc/subgid give
// the user kubelet, below the folder etc, or else in the default range. They must be
// enough for so many pods (A-SEC-6).
func ConfiguredUserNamespaces(etc string, length uint32, pods int32) (UserNamespaceBlocks, error) {
	users, err := rangeIn(filepath.Join(etc, "subuid"))
	if err != nil {
		return UserNamespaceBlocks{}, err
	}
	groups, err := rangeIn(filepath.Join(etc, "subgid"))
	if err != nil {
		return UserNamespaceBlocks{}, err
	}
	out := UserNamespaceBlocksOf(length)
	if users != (block{}) || groups != (block{}) {
		out = UserNamespaceBlocks{Length: length, First: users.first, End: users.first + users.length}
	}
	wrong := func(why string, args ...any) (UserNamespaceBlocks, error) {
		return UserNamespaceBlocks{}, fmt.Errorf("IDs of user %s in %s/subuid and subgid: %s", kubeletUser, etc, fmt.Sprintf(why, args...))
	}
	switch {
	case users != groups:
		return wrong("should be the same in both files")
	case out.First%length != 0 || (out.End-out.First)%length != 0:
		return wrong("should begin at a multiple of %d, and be a multiple of it", length)
	case out.First < length:
		return wrong("should begin at %d or above: 0 is the machine's own root", length)
	case (out.End-out.First)/length < uint32(max(0, pods)):
		return wrong("are enough for %d pods of %d IDs each: should be for maxPods, %d", (out.End-out.First)/length, length, pods)
	}
	return out, nil
}

// rangeIn is what a file gives the user; the zero block for nothing.
func rangeIn(path string) (block, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return block{}, nil
	}
	if err != nil {
		return block{}, fmt.Errorf("look for the IDs of user %s: %w", kubeletUser, err)
	}
	var out block
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		parts := strings.Split(strings.TrimSpace(lines.Text()), ":")
		if parts[0] != kubeletUser {
			continue
		}
		if out != (block{}) {
			return block{}, fmt.Errorf("%s: user %s has several lines: should have one", path, kubeletUser)
		}
		if out, err = parse(parts); err != nil {
			return block{}, fmt.Errorf("%s: line %q: %w", path, lines.Text(), err)
		}
	}
	return out, nil
}

func parse(parts []string) (block, error) {
	want := errors.New("should be " + kubeletUser + ":FIRST:COUNT, within 32 bits")
	if len(parts) != 3 {
		return block{}, want
	}
	first, err1 := strconv.ParseUint(parts[1], 10, 32)
	count, err2 := strconv.ParseUint(parts[2], 10, 32)
	if err1 != nil || err2 != nil || count == 0 || first+count > 1<<32-1 {
		return block{}, want
	}
	return block{first: uint32(first), length: uint32(count)}, nil
}
