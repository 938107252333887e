package features

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/containerd/containerd/api/types"
	"github.com/containerd/containerd/api/types/runc/options"
	"github.com/containerd/containerd/v2/pkg/shim"
	"github.com/containerd/log"
	"github.com/containerd/typeurl/v2"
	"google.golang.org/protobuf/proto"
)

// Shim keeps what is said of one runtime.
type Shim struct {
	shim.Shim
	// Carried is the path of that runtime, which stays as it is, beside the shim's program.
	Carried string
}

// Info says what the runtime of the options can do.
func (s Shim) Info(ctx context.Context, question io.Reader) (*types.RuntimeInfo, error) {
	asked, err := io.ReadAll(question)
	if err != nil {
		return nil, err
	}
	info, err := s.Shim.Info(ctx, bytes.NewReader(asked))
	if err != nil || !s.isOfCarried(info) {
		return info, err
	}
	answer, err := proto.Marshal(info)
	if err == nil {
		err = keep(filepath.Dir(s.Carried), asked, answer)
	}
	if err != nil {
		log.G(ctx).WithError(err).Debug("keep what the runtime can do")
	}
	return info, nil
}

func (s Shim) isOfCarried(info *types.RuntimeInfo) bool {
	if info.Features == nil || info.Options == nil {
		return false
	}
	decoded, err := typeurl.UnmarshalAny(info.Options)
	if err != nil {
		return false
	}
	opts, isRunc := decoded.(*options.Options)
	if !isRunc {
		return false
	}
	a, errA := os.Stat(opts.BinaryName)
	b, errB := os.Stat(s.Carried)
	return errA == nil && errB == nil && os.SameFile(a, b)
}
