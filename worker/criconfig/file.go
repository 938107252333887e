package criconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// fileKey reads a fileKeyRef (A-ENV-6). A file that is missing counts as a
// missing key, so that `optional` covers it, as the API's documentation says
// and Kubernetes 1.37 does not do.
func (b *builder) fileKey(ref *v1.FileKeySelector) (string, bool, error) {
	var dir string
	known := false
	if b.VolumePath != nil {
		dir, known = b.VolumePath(ref.VolumeName)
	}
	if !known {
		return "", false, fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	content, err := readVolumeFile(dir, ref.Path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	value := ""
	if err == nil {
		value, err = parseEnvFile(content, ref.Key)
	}
	if err != nil {
		return "", false, fmt.Errorf("couldn't parse env file %q of volume %q for key %q: %w", ref.Path, ref.VolumeName, ref.Key, err)
	}
	if value != "" || ptr.Deref(ref.Optional, false) {
		return value, value != "", nil
	}
	return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, ref.Path)
}

// readVolumeFile reads the file without leaving the volume, whatever links a
// container has put there.
func readVolumeFile(dir, path string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer func() { _ = root.Close() }()
	return readPlainFile(root, path)
}

// maxEnvFileBytes is more than all variables of a process may be together.
const maxEnvFileBytes = 4 << 20

// readPlainFile reads a file that a container wrote: neither a pipe, on which
// the read would hang, nor more than fits into an environment.
func readPlainFile(root *os.Root, path string) (string, error) {
	opened, err := root.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = opened.Close() }()
	info, err := opened.Stat()
	if err != nil {
		return "", err
	}
	switch {
	case !info.Mode().IsRegular():
		return "", errors.New("is no regular file")
	case info.Size() > maxEnvFileBytes:
		return "", fmt.Errorf("has %d bytes, more than %d", info.Size(), maxEnvFileBytes)
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxEnvFileBytes))
	return string(content), err
}

// parseEnvFile finds a key in lines of the form NAME='value'. The value is
// taken literally and may span lines; a blank after = means an empty value.
// An error has the line's number and not its text, which may be a secret of
// the container that wrote it.
func parseEnvFile(content, key string) (string, error) {
	content = strings.TrimSuffix(strings.ReplaceAll(content, "\r\n", "\n"), "\r")
	whole := content
	for content != "" {
		line, rest, _ := strings.Cut(content, "\n")
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			content = rest
			continue
		}
		name, _, found := strings.Cut(line, "=")
		problem := ""
		if !found || name == "" || strings.TrimRight(name, " \t") != name {
			problem = "there is no NAME= without a blank before ="
		}
		_, behind, _ := strings.Cut(content, "=")
		value, rest, wrong := quotedValue(behind)
		if problem = cmp.Or(problem, wrong); problem != "" {
			number := 1 + strings.Count(whole[:len(whole)-len(content)], "\n")
			return "", fmt.Errorf("line %d: %s: should be NAME='value'", number, problem)
		}
		if name == key {
			return value, nil
		}
		content = rest
	}
	return "", nil
}

// quotedValue reads what follows NAME= and returns the text of the next lines, or the problem.
func quotedValue(text string) (value, rest, problem string) {
	if text != "" && (text[0] == ' ' || text[0] == '\t') {
		_, rest, _ = strings.Cut(text, "\n")
		return "", rest, ""
	}
	text, opened := strings.CutPrefix(text, "'")
	value, text, closed := strings.Cut(text, "'")
	if !opened || !closed {
		return "", "", "the value is not in single quotes"
	}
	tail, rest, _ := strings.Cut(text, "\n")
	tail = strings.TrimLeft(tail, " \t")
	if tail != "" && tail[0] != '#' {
		return "", "", "there is text behind the closing quote"
	}
	return value, rest, ""
}
