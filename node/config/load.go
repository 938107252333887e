package config

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path/filepath"

	kubeletconfig "k8s.io/kubelet/config/v1beta1"
)

// dropInExtension ends the names of drop-ins; other files are left out.
const dropInExtension = ".conf"

// Config is a node's configuration and where it is from.
type Config struct {
	// Kubelet is complete: every field has its value or the kubelet's default.
	Kubelet *kubeletconfig.KubeletConfiguration
	// From names the file that has set a field last, by the field's first name
	// ("authentication"). Fields that no file sets are not there.
	From map[string]string
	// Skipped are files in the folder of drop-ins that don't end in .conf.
	Skipped []string
}

// Default is the configuration of a node without any file. It is that of an empty
// file, not the kubelet's older defaults of flags: nobody is let in unasked.
func Default() *Config {
	c, err := parse(nil)
	if err != nil {
		panic(err) // the defaults are valid, a test says
	}
	return c
}

// Load reads file and the drop-ins below dir; either may be empty. An error names
// the file and the field that is wrong and what would be right.
func Load(file, dir string) (*Config, error) { return LoadOver("", file, dir) }

// LoadOver is Load with another file below: what file doesn't say is as that one says,
// as if both were one file. Each may be empty.
func LoadOver(below, file, dir string) (*Config, error) {
	var files []document
	for _, path := range []string{below, file} {
		if path == "" {
			continue
		}
		d, err := readDocument(path)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 {
			d.below = &files[0]
		}
		files = []document{d}
	}
	dropIns, skipped, err := readDropIns(dir)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 && len(dropIns) > 0 {
		files = append(files, document{fields: map[string]any{}})
	}
	c, err := parse(append(files, dropIns...))
	if err != nil {
		return nil, err
	}
	c.Skipped = skipped
	return c, nil
}

// Set says whether a file has set the field with this first name.
func (c *Config) Set(field string) bool { return c.From[field] != "" }

func readDropIns(dir string) (dropIns []document, skipped []string, err error) {
	if dir == "" {
		return nil, nil, nil
	}
	walk := func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return nil
		case filepath.Ext(path) != dropInExtension:
			skipped = append(skipped, path)
			return nil
		}
		d, err := readDocument(path)
		if err == nil {
			dropIns = append(dropIns, d)
		}
		return err
	}
	if err := filepath.WalkDir(dir, walk); err != nil {
		return nil, nil, fmt.Errorf("read drop-ins of %s: %w", dir, err)
	}
	return dropIns, skipped, nil
}

// parse gives the first document its defaults and merges the others into it, and
// only then gives what they have set to null its default again: a default that
// follows from another field follows from the first file's, as in the kubelet.
func parse(documents []document) (*Config, error) {
	c := &Config{Kubelet: &kubeletconfig.KubeletConfiguration{}, From: map[string]string{}}
	var base map[string]any
	for i, d := range documents {
		d.tell(c.From)
		if i > 0 {
			base = mergePatch(base, d.fields)
			continue
		}
		first, err := typed(d.merged())
		if err != nil {
			return nil, fmt.Errorf("read configuration %s: %w", d.file, err)
		}
		setDefaults(first)
		setEvictionDefaults(first)
		if base, err = generic(first); err != nil {
			return nil, fmt.Errorf("read configuration %s: %w", d.file, err)
		}
	}
	merged, err := typed(base)
	if err != nil {
		return nil, fmt.Errorf("merge configuration: %w", err)
	}
	c.Kubelet = merged
	setDefaults(c.Kubelet)
	if len(documents) == 0 {
		setEvictionDefaults(c.Kubelet)
	}
	delete(c.From, "kind")
	delete(c.From, "apiVersion")
	return c, c.validate()
}

func typed(fields map[string]any) (*kubeletconfig.KubeletConfiguration, error) {
	out := &kubeletconfig.KubeletConfiguration{}
	data, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, out)
}

func generic(c *kubeletconfig.KubeletConfiguration) (map[string]any, error) {
	out := map[string]any{}
	data, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	return out, json.Unmarshal(data, &out)
}

// mergePatch is RFC 7386.
func mergePatch(base, patch map[string]any) map[string]any {
	if base == nil {
		base = map[string]any{}
	}
	for key, value := range patch {
		inner, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(base, key)
		case isMap:
			below, _ := base[key].(map[string]any)
			base[key] = mergePatch(below, inner)
		default:
			base[key] = value
		}
	}
	return base
}
