package main

import (
	"fmt"
	"strings"
	"text/template"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"
)

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
