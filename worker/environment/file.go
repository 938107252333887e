package environment

import (
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

// errEnvFile is all a user learns about a file that does not parse: its lines
// may hold secrets of the container that wrote it.
var errEnvFile = errors.New("couldn't parse env file")

// fileKey reads a fileKeyRef (A-ENV-6). A file that is missing counts as a
// missing key, so that `optional` covers it, as the API's documentation says
// and Kubernetes 1.36 does not do.
func (b *builder) fileKey(ref *v1.FileKeySelector) (string, bool, error) {
	content, err := b.readVolumeFile(ref)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", false, err
	}
	value, err := parseEnvFile(content, ref.Key)
	if err != nil {
		return "", false, errEnvFile
	}
	if value != "" || ptr.Deref(ref.Optional, false) {
		return value, value != "", nil
	}
	return "", false, fmt.Errorf("environment variable key %q not found in file %q", ref.Key, ref.Path)
}

// readVolumeFile reads the file without leaving the volume, whatever links a
// container has put there.
func (b *builder) readVolumeFile(ref *v1.FileKeySelector) (string, error) {
	var dir string
	found := false
	if b.VolumePath != nil {
		dir, found = b.VolumePath(ref.VolumeName)
	}
	if !found {
		return "", fmt.Errorf("cannot find the volume %q referenced by FileKeyRef", ref.VolumeName)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("open volume %q: %w", ref.VolumeName, err)
	}
	defer func() { _ = root.Close() }()
	content, err := readPlainFile(root, ref.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", errEnvFile
	}
	return content, err
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
	if !info.Mode().IsRegular() || info.Size() > maxEnvFileBytes {
		return "", errEnvFile
	}
	content, err := io.ReadAll(io.LimitReader(opened, maxEnvFileBytes))
	return string(content), err
}

// parseEnvFile finds a key in lines of the form NAME='value'. The value is
// taken literally and may span lines; a blank after = means an empty value.
func parseEnvFile(content, key string) (string, error) {
	content = strings.TrimSuffix(strings.ReplaceAll(content, "\r\n", "\n"), "\r")
	for content != "" {
		line, rest, _ := strings.Cut(content, "\n")
		line = strings.TrimLeft(line, " \t")
		if line == "" || line[0] == '#' {
			content = rest
			continue
		}
		name, _, found := strings.Cut(line, "=")
		if !found || name == "" || strings.TrimRight(name, " \t") != name {
			return "", fmt.Errorf("line %q: want NAME='value'", line)
		}
		_, behind, _ := strings.Cut(content, "=")
		value, rest, err := quotedValue(behind)
		if err != nil {
			return "", err
		}
		if name == key {
			return value, nil
		}
		content = rest
	}
	return "", nil
}

// quotedValue reads what follows NAME= and returns the text of the next lines.
func quotedValue(text string) (value, rest string, err error) {
	if text != "" && (text[0] == ' ' || text[0] == '\t') {
		_, rest, _ = strings.Cut(text, "\n")
		return "", rest, nil
	}
	text, opened := strings.CutPrefix(text, "'")
	value, text, closed := strings.Cut(text, "'")
	if !opened || !closed {
		return "", "", errors.New("value must be in single quotes")
	}
	tail, rest, _ := strings.Cut(text, "\n")
	tail = strings.TrimLeft(tail, " \t")
	if tail != "" && tail[0] != '#' {
		return "", "", errors.New("text behind the closing quote")
	}
	return value, rest, nil
}
