package objects

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	config "k8s.io/kubelet/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/internal/yamlsyntax"
	"github.com/lifepod/lifepod/worker/criconfig"
)

// configVersions are those of a CredentialProviderConfig; the older ones only lack fields.
var configVersions = []string{"kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v1beta1", "kubelet.config.k8s.io/v1alpha1"}

// ReadCredentialProviders reads a CredentialProviderConfig from a file, or from all *.json, *.yaml
// and *.yml files of a folder, by name. The error names file and field.
func ReadCredentialProviders(path string) ([]config.CredentialProvider, error) {
	files, err := configFiles(path)
	if err != nil {
		return nil, fmt.Errorf("credential provider config: %w", err)
	}
	var providers []config.CredentialProvider
	for _, file := range files {
		more, err := readFile(file)
		if err != nil {
			return nil, fmt.Errorf("credential provider config %s: %w", file, err)
		}
		for _, p := range more {
			if slices.ContainsFunc(providers, func(q config.CredentialProvider) bool { return q.Name == p.Name }) {
				return nil, fmt.Errorf("credential provider config %s: duplicate provider name %q found in configuration file(s)", file, p.Name)
			}
			providers = append(providers, p)
		}
	}
	if len(providers) == 0 {
		required := field.Required(field.NewPath("providers"), "at least 1 item in plugins is required")
		return nil, fmt.Errorf("credential provider config %s: %w", path, required)
	}
	return providers, nil
}

func configFiles(path string) ([]string, error) {
	if path == "" {
		return nil, errors.New("no file is given, want --image-credential-provider-config beside --image-credential-provider-bin-dir")
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path) // sorted by name
	if err != nil {
		return nil, err
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".json", ".yaml", ".yml"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no configuration files found in directory %q", path)
	}
	return files, nil
}

func readFile(file string) ([]config.CredentialProvider, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	only, err := yamlsyntax.Only(data, "CredentialProviderConfig")
	if err != nil {
		return nil, err
	}
	text, err := yaml.YAMLToJSONStrict(only.Text)
	if err != nil {
		return nil, only.Find(err)
	}
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return nil, err
	}
	if kind.Kind != "CredentialProviderConfig" || !slices.Contains(configVersions, kind.APIVersion) {
		return nil, fmt.Errorf("it is %q of %q, want CredentialProviderConfig of one of %q", kind.Kind, kind.APIVersion, configVersions)
	}
	var read config.CredentialProviderConfig
	if err := yaml.UnmarshalStrict(text, &read); err != nil {
		return nil, err
	}
	var wrong field.ErrorList
	for i := range read.Providers {
		wrong = append(wrong, validate(field.NewPath("providers").Index(i), &read.Providers[i])...)
	}
	return read.Providers, wrong.ToAggregate()
}

// variables are those of one Service (A-ENV-7): where it is, each of its named
// ports, and all ports once more in the form of Docker links.
func variables(service *v1.Service) []criconfig.KeyValue {
	prefix, ip := envName(service.Name), service.Spec.ClusterIP
	out := []criconfig.KeyValue{{Name: prefix + "_SERVICE_HOST", Value: ip}}
	for i, port := range service.Spec.Ports {
		number := strconv.Itoa(int(port.Port))
		if i == 0 {
			out = append(out, criconfig.KeyValue{Name: prefix + "_SERVICE_PORT", Value: number})
		}
		if port.Name != "" {
			out = append(out, criconfig.KeyValue{Name: prefix + "_SERVICE_PORT_" + envName(port.Name), Value: number})
		}
	}
	for i, port := range service.Spec.Ports {
		out = append(out, links(prefix, ip, port, i == 0)...)
	}
	return out
}

func links(prefix, ip string, port v1.ServicePort, first bool) []criconfig.KeyValue {
	protocol := string(cmp.Or(port.Protocol, v1.ProtocolTCP))
	number := strconv.Itoa(int(port.Port))
	lower := strings.ToLower(protocol)
	url := lower + "://" + net.JoinHostPort(ip, number)
	name := fmt.Sprintf("%s_PORT_%s_%s", prefix, number, strings.ToUpper(protocol))
	var out []criconfig.KeyValue
	if first {
		out = append(out, criconfig.KeyValue{Name: prefix + "_PORT", Value: url})
	}
	return append(out,
		criconfig.KeyValue{Name: name, Value: url},
		criconfig.KeyValue{Name: name + "_PROTO", Value: lower},
		criconfig.KeyValue{Name: name + "_PORT", Value: number},
		criconfig.KeyValue{Name: name + "_ADDR", Value: ip},
	)
}

func envName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
