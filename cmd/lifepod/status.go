package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"text/template"
	"time"

	"github.com/spf13/cobra"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/control/client"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/plain"
)

func newStatusCommand(g *global) *cobra.Command {
	var on *onPod
	var output string
	command := &cobra.Command{
		Use:   "status [flags] [POD]",
		Short: "Show a pod: phase, conditions, containers, events; without a pod the state folder's cluster",
		Long: `Show a pod: phase, address, conditions, containers, recent events.

With -o yaml or -o json it is the v1.Pod: the spec as it was accepted, with all
defaults, and the current status; of a pod that has ended, what the journal has.

Without a pod it shows the cluster that lifepod up runs, with -o json for programs,
or how many pods there are in a state folder without one.`,
		Args: commandline.Arguments(0, 1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := commandline.CheckOutput(output, objectOutputs...); err != nil {
				return err
			}
			ctx := command.Context()
			switch {
			case len(args) == 0 && (hasCluster(g.root) || output != ""):
				return becomeCluster(os.Args[1:])
			case len(args) == 0:
				return g.showFolder(command)
			}
			pod, events, err := on.describe(ctx, args[0], output == "")
			if err != nil {
				return err
			}
			if output != "" {
				return printObject(command.OutOrStdout(), pod, output)
			}
			return client.Describe(command.OutOrStdout(), pod, events, time.Now())
		},
	}
	on = g.onPodCommand(command)
	command.Flags().StringVarP(&output, "output", "o", "", "`format`: yaml or json, the v1.Pod; jsonpath={…} or go-template={{…}} of it")
	return command
}

// showFolder shows what there is in a state folder without a cluster.
func (g *global) showFolder(command *cobra.Command) error {
	c, err := g.pods()
	if err != nil {
		return err
	}
	pods, _, err := c.Pods(command.Context())
	if err != nil {
		return err
	}
	left := c.Unattended(pods)
	text := fmt.Sprintf("Cluster:   none in %s; %s starts one\nPods:      %d", g.root, bundle.Command(g.root, "up"), len(pods)+len(left))
	if len(left) > 0 {
		text += fmt.Sprintf(", %d of them unattended", len(left))
	}
	if len(pods)+len(left) > 0 {
		text += fmt.Sprintf("; %s lists them", bundle.Command(g.root, "ps"))
	}
	_, err = fmt.Fprintln(command.OutOrStdout(), text)
	return err
}

// describe is the pod that the user named, also one that no lifepod leads, and its events
// if they are wanted.
func (p *onPod) describe(ctx context.Context, name string, withEvents bool) (*v1.Pod, []v1.Event, error) {
	pod, err := p.find(ctx, name)
	if left, ok := errors.AsType[*client.UnattendedError](err); ok {
		return left.Pod.Pod, left.Events, nil
	}
	if err != nil || !withEvents {
		return podOf(pod), nil, err
	}
	events, err := pod.Events(ctx)
	return pod.Pod, events, err
}

func podOf(pod *client.Pod) *v1.Pod {
	if pod == nil {
		return nil
	}
	return pod.Pod
}

// objectOutputs are the formats of printObject.
var objectOutputs = []string{"yaml", "json", "jsonpath=", "go-template="}

// printObject writes an API object, or what is asked of it.
func printObject(w io.Writer, object any, output string) error {
	if format, expression, asked := strings.Cut(output, "="); asked {
		text, err := evaluate(format, expression, object)
		if err == nil {
			_, err = io.WriteString(w, plain.Text(text))
		}
		return err
	}
	text, err := json.MarshalIndent(object, "", "    ")
	text = append(plain.JSON(text), '\n')
	if err == nil && output == "yaml" {
		text, err = harmlessYAML(text)
	}
	if err != nil {
		return fmt.Errorf("write the pod: %w", err)
	}
	_, err = w.Write(text)
	return err
}

// evaluate is what an expression, as kubectl has them, says of an API object: a jsonpath or a go-template.
func evaluate(format, expression string, object any) (string, error) {
	var out strings.Builder
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	if format == "jsonpath" {
		if !strings.Contains(expression, "{") {
			expression = "{" + expression + "}"
		}
		path := jsonpath.New("").AllowMissingKeys(true)
		if err = path.Parse(expression); err == nil {
			err = path.Execute(&out, fields)
		}
	} else {
		var t *template.Template
		if t, err = template.New("").Parse(expression); err == nil {
			err = t.Execute(&out, fields)
		}
	}
	if err != nil {
		return "", fmt.Errorf("-o %s=%s: %w", format, expression, err)
	}
	return out.String(), nil
}

// escapes matches the escapes of JSON. The longer ones stand for characters that change the direction of writing.
var escapes = regexp.MustCompile(`\\(u061c|u200e|u200f|u202[a-e]|u206[6-9]|.)`)

// harmlessYAML is an object of JSON as YAML. YAML leaves characters that turn the direction of
// writing as they are: a control character stands for each until it is YAML, and has their string
// written with escapes. An object that may have that one is left as JSON, which is YAML, too.
func harmlessYAML(object []byte) ([]byte, error) {
	object = plain.JSON(object)
	marked := escapes.ReplaceAllFunc(object, func(escape []byte) []byte {
		if len(escape) == len(`\n`) {
			return escape
		}
		return append([]byte(`\u0001`), escape[len(`\u`):]...)
	})
	if bytes.Equal(marked, object) {
		return yaml.JSONToYAML(object)
	}
	if bytes.Contains(object, []byte("u0001")) || bytes.Contains(object, []byte("x01")) {
		return object, nil
	}
	text, err := yaml.JSONToYAML(marked)
	return bytes.ReplaceAll(text, []byte(`\x01`), []byte(`\u`)), err
}
