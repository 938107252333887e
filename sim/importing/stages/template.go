package stages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/Masterminds/sprig/v3"
	"sigs.k8s.io/yaml"
)

// address stands for the addresses that KWOK gives to pods and nodes: lifepod has its own.
const address = "10.0.0.1"

// functions are those of KWOK's templates, without those of sprig that look at this machine or at chance.
func functions(now time.Time) template.FuncMap {
	all := sprig.HermeticTxtFuncMap()
	one := func(...any) string { return address }
	list := func(...any) []string { return []string{address} }
	maps.Copy(all, template.FuncMap{
		"Quote": quote, "Now": func() string { return now.Format(time.RFC3339Nano) }, "StartTime": func() string { return now.Format(time.RFC3339Nano) },
		"YAML": toYAML, "Version": func() string { return "v0.8.0" },
		"NodeIP": one, "NodeIPWith": one, "NodeIPsWith": list, "PodIP": one, "PodIPWith": one, "PodIPsWith": list,
	})
	return all
}

func quote(v any) string {
	data, err := json.Marshal(v)
	switch {
	case err != nil:
		return strconv.Quote(fmt.Sprint(v))
	case data[0] == '"':
		return string(data)
	}
	return strconv.Quote(string(data))
}

func toYAML(v any, indent ...int) (string, error) {
	data, err := yaml.Marshal(v)
	if err != nil {
		return "", err
	}
	text := string(data)
	if len(indent) == 1 && indent[0] > 0 {
		text = strings.ReplaceAll("\n"+text, "\n", "\n"+strings.Repeat(" ", indent[0]*2))
	}
	return text, nil
}

// render makes JSON of a template for a pod.
func render(text string, pod any, now time.Time) ([]byte, error) {
	parsed, err := template.New("template").Funcs(functions(now)).Parse(strings.TrimSpace(text))
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(pod)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // as KWOK's: numbers stay as they are written
	var of any
	if err := decoder.Decode(&of); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, of); err != nil {
		return nil, err
	}
	return yaml.YAMLToJSON(out.Bytes())
}
