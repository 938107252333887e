package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

var described = regexp.MustCompile(`^v?([0-9][0-9A-Za-z.]*)(?:-([0-9A-Za-z.]+?))??(?:-([0-9]+)-g([0-9a-f]+))?(-dirty)?$`)

// debianVersion makes a version of which the later is the greater from what git
// describes: "v1.2.0-rc.1-5-gabc" is 1.2.0~rc.1+5.gabc, a mere commit counts by
// its time and is less than any release.
func debianVersion(git string, when time.Time) string {
	m := described.FindStringSubmatch(git)
	if m == nil || !strings.Contains(m[1], ".") {
		return fmt.Sprintf("0~%s.%s", when.Format("20060102150405"), strings.ReplaceAll(git, "-", "."))
	}
	version := m[1]
	if m[2] != "" {
		version += "~" + m[2]
	}
	if m[3] != "" {
		version += "+" + m[3] + ".g" + m[4]
	}
	if m[5] != "" {
		version += "+dirty"
	}
	return version
}

func changelog(version string, when time.Time) string {
	return fmt.Sprintf("lifepod (%s) unstable; urgency=medium\n\n  * What has changed is told at %s.\n\n -- %s  %s\n",
		version, homepage, maintainer, when.Format("Mon, 02 Jan 2006 15:04:05 -0700"))
}

// completions writes the scripts by which shells ask lifepod what completes a line: they know nothing but its name.
func completions(into string) error {
	lifepod := &cobra.Command{Use: "lifepod"}
	return errors.Join(
		lifepod.GenBashCompletionFileV2(filepath.Join(into, "lifepod.bash"), true),
		lifepod.GenZshCompletionFile(filepath.Join(into, "_lifepod")),
		lifepod.GenFishCompletionFile(filepath.Join(into, "lifepod.fish"), true),
	)
}

// generate writes the files that are made.
func generate(root, into, changelog string) error {
	manual, err := os.ReadFile(filepath.Join(root, "packaging", "files", "lifepod.1"))
	if err != nil {
		return err
	}
	if err := completions(into); err != nil {
		return err
	}
	for name, content := range map[string][]byte{"changelog.gz": []byte(changelog), "lifepod.1.gz": manual} {
		var packed bytes.Buffer
		writer, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := writer.Write(content); err != nil {
			return err
		}
		if err := writer.Close(); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(into, name), packed.Bytes(), 0o644); err != nil {
			return err
		}
	}
	return nil
}
