package grow

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/lifepod/lifepod/cluster/e2e/instance"
)

// tokenCreate is lifepod token create --print-join-command.
func tokenCreate(ctx context.Context, c *instance.Instance) (string, error) {
	out, err := exec.CommandContext(ctx, c.Program, "token", "create", "--root", c.Root, "--print-join-command").Output()
	if err != nil {
		return "", fmt.Errorf("token create: %w", err)
	}
	return string(out), nil
}
