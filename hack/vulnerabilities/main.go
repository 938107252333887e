// Command vulnerabilities holds lifepod's programs against the Go vulnerability database, by govulncheck, which is pinned in
// hack/tools. The database is a copy in database.jsonl, of the entries for modules that the programs are made of, so that a
// check needs no network and has the same answer everywhere; `make update-vulnerabilities VULNDB=folder` renews it.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	database = "hack/vulnerabilities/database.jsonl"
	accepted = "hack/vulnerabilities/accepted.txt" // a line for each: its ID and why it does no harm
)

func main() {
	renew := flag.String("renew", "", "write the database anew from this clone of github.com/golang/vulndb")
	flag.Parse()
	var err error
	if *renew != "" {
		err = write(*renew)
	} else {
		err = check(flag.Args())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulnerabilities:", err)
		os.Exit(1)
	}
}

// entry is what govulncheck needs of one.
type entry struct {
	SchemaVersion string `json:"schema_version"`
	ID            string `json:"id"`
	Modified      string `json:"modified"`
	Published     string `json:"published"`
	Withdrawn     string `json:"withdrawn,omitempty"`
	Summary       string `json:"summary,omitempty"`
	Affected      []struct {
		Package struct {
			Name      string `json:"name"`
			Ecosystem string `json:"ecosystem"`
		} `json:"package"`
		Ranges   json.RawMessage `json:"ranges,omitempty"`
		Specific json.RawMessage `json:"ecosystem_specific,omitempty"`
	} `json:"affected"`
}

func write(vulndb string) error {
	modules := map[string]bool{"stdlib": true}
	required := regexp.MustCompile(`(?m)^\s*(?:require )?(\S+) v\S+(?: //.*)?$`)
	for _, file := range []string{"go.mod", "cluster/go.mod", "bundle/runtime/go.mod"} {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, match := range required.FindAllSubmatch(text, -1) {
			modules[string(match[1])] = true
		}
	}
	files, err := filepath.Glob(filepath.Join(vulndb, "data", "osv", "*.json"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("%s has no data/osv/*.json: want a clone of github.com/golang/vulndb", vulndb))
	}
	var out bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		kept := e.Affected[:0]
		for _, affected := range e.Affected {
			if modules[affected.Package.Name] {
				kept = append(kept, affected)
			}
		}
		if e.Affected = kept; len(kept) == 0 || e.Withdrawn != "" {
			continue
		}
		if err := json.NewEncoder(&out).Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(database, out.Bytes(), 0o600)
}

func check(programs []string) error {
	dir, err := unpack()
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	found := map[string][]string{} // by ID: in which programs, and in which module
	for _, program := range programs {
		command := exec.Command("go", "tool", "-modfile=hack/tools/go.mod", "govulncheck", "-mode=binary", "-format=json", "-db=file://"+dir, program)
		command.Stderr = os.Stderr
		out, err := command.Output()
		if err != nil {
			return fmt.Errorf("govulncheck %s: %w", program, err)
		}
		if err := read(out, filepath.Base(program), found); err != nil {
			return fmt.Errorf("govulncheck %s: %w", program, err)
		}
	}
	reasons, err := os.ReadFile(accepted)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(reasons)) {
		id, why, _ := strings.Cut(strings.TrimSpace(line), " ")
		if why == "" || len(found[id]) == 0 {
			return fmt.Errorf("%s: %s is in no program any more, or has no reason", accepted, id)
		}
		delete(found, id)
	}
	for _, id := range slices.Sorted(maps.Keys(found)) {
		slices.Sort(found[id])
		fmt.Printf("%s https://pkg.go.dev/vuln/%s\n  %s\n", id, id, strings.Join(slices.Compact(found[id]), "\n  "))
	}
	if len(found) > 0 {
		return fmt.Errorf("%d known vulnerabilities: raise the modules, or say in %s why they do no harm", len(found), accepted)
	}
	fmt.Printf("%d programs, no known vulnerability that is not in %s\n", len(programs), accepted)
	return nil
}

// unpack makes a folder of the database, as govulncheck reads it.
func unpack() (dir string, err error) {
	file, err := os.Open(database)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	if dir, err = os.MkdirTemp("", "vulndb-"); err != nil {
		return "", err
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return dir, nil
		}
		var e entry
		if err := errors.Join(err, json.Unmarshal(line, &e)); err != nil {
			return "", errors.Join(fmt.Errorf("%s: %w", database, err), os.RemoveAll(dir))
		}
		if err := os.WriteFile(filepath.Join(dir, e.ID+".json"), line, 0o600); err != nil {
			return "", errors.Join(err, os.RemoveAll(dir))
		}
	}
}

// read takes the findings whose package is linked in.
func read(out []byte, program string, found map[string][]string) error {
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var message struct {
			Finding *struct {
				OSV   string `json:"osv"`
				Fixed string `json:"fixed_version"`
				Trace []struct{ Module, Version, Package string }
			}
		}
		if err := decoder.Decode(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if f := message.Finding; f != nil && len(f.Trace) > 0 && f.Trace[0].Package != "" {
			found[f.OSV] = append(found[f.OSV], fmt.Sprintf("%s: %s %s, fixed in %q", program, f.Trace[0].Module, f.Trace[0].Version, f.Fixed))
		}
	}
}
