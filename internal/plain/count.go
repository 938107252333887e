package plain

import (
	"fmt"
	"strings"
)

// Count says how many there are of a thing: 1 pod, 2 pods, 3 processes.
func Count(n int, what string) string {
	switch {
	case n == 1:
		return "1 " + what
	case strings.HasSuffix(what, "s"):
		what += "e"
	}
	return fmt.Sprintf("%d %ss", n, what)
}
