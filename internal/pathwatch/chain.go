package pathwatch

import (
	"os"
	"path/filepath"
	"strings"
)

// maxLinks is how many links to links are followed, as by Linux.
const maxLinks = 40

// chain is a file and every link on the way to its content, be it the last element
// of a path (kubelet-client-current.pem) or a folder (..data of a mounted Secret): if
// one of these names is replaced, the content may have changed.
func chain(file string) []string {
	out := []string{file}
	for range maxLinks {
		link, target := firstLink(file)
		if link == "" {
			break
		}
		rest := strings.TrimPrefix(file, link)
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(link), target)
		}
		file = filepath.Join(target, rest)
		out = append(out, link, file)
	}
	return out
}

// firstLink is the first element of a path that is a link.
func firstLink(path string) (link, target string) {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != filepath.Separator {
			continue
		}
		if target, err := os.Readlink(path[:i]); err == nil {
			return path[:i], target
		}
	}
	return "", ""
}
