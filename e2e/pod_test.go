package e2e

import (
	"fmt"
	"strings"
)

// toolbox is the image that lifepod carries.
const toolbox = "lifepod.dev/toolbox:1"

// pod is the manifest of a Pod with this spec, in which TOOLBOX stands for the
// carried image.
func pod(name, spec string) string {
	spec = strings.ReplaceAll(strings.Trim(spec, "\n"), "TOOLBOX", toolbox)
	return fmt.Sprintf("apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\nspec:\n%s\n", name, indent(spec, 2))
}

// script is a Pod that runs one shell script and is not restarted.
func script(name, text string) string {
	return pod(name, "restartPolicy: Never\ncontainers:\n"+shell("main", text))
}

// shell is a container that runs a shell script; more are further fields of it.
func shell(name, text string, more ...string) string {
	lines := fmt.Sprintf("- name: %s\n  image: TOOLBOX\n  command:\n  - sh\n  - -c\n  - |\n%s\n", name, indent(text, 4))
	for _, fields := range more {
		lines += indent(fields, 2) + "\n"
	}
	return lines
}

func indent(text string, by int) string {
	space := strings.Repeat(" ", by)
	lines := strings.Split(strings.Trim(text, "\n"), "\n")
	for i, line := range lines {
		if line != "" {
			lines[i] = space + line
		}
	}
	return strings.Join(lines, "\n")
}
