//go:build !cgo || !seccomp

package filters

import (
	"errors"

	"github.com/opencontainers/runc/libcontainer/configs"
)

const fileName = "seccomp.bpf"

func compile(*configs.Seccomp) ([]byte, error) { return nil, errors.ErrUnsupported }
