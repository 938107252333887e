// Command build makes a Debian package of lifepod's binary, with the systemd units of
// its agent and its cluster, of the files in packaging/files. The same inputs give the same
// package, byte by byte. The architecture is that of the binary.
//
// It is a module of its own, so that what it needs stays out of lifepod's; run it
// as `make deb`.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
)

func main() {
	root := flag.String("root", ".", "the repository")
	program := flag.String("binary", "bin/lifepod", "lifepod's binary, below the repository")
	version := flag.String("version", "", "of lifepod, as git describes it")
	epoch := flag.String("time", "0", "seconds since 1970 that all files have for their time")
	flag.Parse()
	path, err := build(*root, *program, *version, *epoch)
	if err != nil {
		fmt.Fprintf(os.Stderr, "packaging/build: %v\n", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// build returns the path of the package.
func build(root, program, gitVersion, epoch string) (string, error) {
	seconds, err := strconv.ParseInt(epoch, 10, 64)
	if err != nil {
		return "", fmt.Errorf("the time %q: %w", epoch, err)
	}
	when := time.Unix(seconds, 0).UTC()
	binary, err := inspect(filepath.Join(root, program))
	if err != nil {
		return "", err
	}
	version := debianVersion(gitVersion, when)
	made, err := os.MkdirTemp("", "lifepod-deb-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(made) }()
	if err := generate(root, made, changelog(version, when)); err != nil {
		return "", err
	}
	info := nfpm.WithDefaults(describe(root, made, version, binary, when))
	if err := nfpm.PrepareForPackager(info, "deb"); err != nil {
		return "", fmt.Errorf("collect the files: %w", err)
	}
	path := filepath.Join(root, "bin", deb.Default.ConventionalFileName(info))
	return path, write(path, info)
}

// write leaves no half package behind.
func write(path string, info *nfpm.Info) (err error) {
	file, err := os.Create(path + ".new")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(path + ".new") }() // it has its name by then if all went well
	if err := deb.Default.Package(info, file); err != nil {
		_ = file.Close()
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
