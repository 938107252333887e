package bridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/containernetworking/cni/pkg/types"
	current "github.com/containernetworking/cni/pkg/types/100"
)

// portmap is the CNI project's plugin, which can use iptables.
const portmap = "portmap"

// forPortmap is the configuration on standard input for that plugin: ours, with its
// type and backend, and the result if there is one.
func (c *config) forPortmap(stdin []byte, result *current.Result) ([]byte, error) {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(stdin, &object); err != nil {
		return nil, types.NewError(types.ErrDecodingFailure, err.Error(), "")
	}
	add := map[string]any{"type": portmap}
	if c.HostPorts != "" {
		add["backend"] = c.HostPorts
	}
	if result != nil {
		converted, err := result.GetAsVersion(c.CNIVersion)
		if err != nil {
			return nil, fmt.Errorf("result for %s: %w", portmap, err)
		}
		add["prevResult"] = converted
	}
	for name, value := range add {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("configuration of %s: %w", portmap, err)
		}
		object[name] = text
	}
	return json.Marshal(object)
}

// callPortmap executes the plugin in the environment of this call. The package of the
// CNI library that does so brings an HTTP client, whose start every pod would wait for.
func callPortmap(command, path string, stdin []byte) error {
	program, err := findPlugin(portmap, path)
	if err != nil {
		return err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), "CNI_COMMAND="+command)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(stdin), &out, os.Stderr
	if err = cmd.Run(); err == nil {
		return nil
	}
	said := &types.Error{}
	if json.Unmarshal(out.Bytes(), said) == nil && said.Msg != "" {
		return said
	}
	return fmt.Errorf("%s %s: %w %s", portmap, command, err, bytes.TrimSpace(out.Bytes()))
}

// findPlugin looks for a program in the folders of CNI_PATH.
func findPlugin(name, path string) (string, error) {
	for _, folder := range filepath.SplitList(path) {
		program := filepath.Join(folder, name)
		if info, err := os.Stat(program); err == nil && info.Mode().IsRegular() {
			return program, nil
		}
	}
	return "", fmt.Errorf("the plugin %s is in none of the folders %s", name, path)
}
