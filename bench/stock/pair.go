package stock

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/cri"
)

// Pair is the runtime that lifepod carries, and the one as upstream ships it, with the same images.
type Pair struct {
	Carried *bundle.Runtime
	Client  *cri.Client // of the carried one
	Stock   *Runtime
}

// OpenPair starts both runtimes below root. programs is the folder of the stock one, as make stock-runtime leaves it.
func OpenPair(ctx context.Context, root, programs string, log *slog.Logger) (_ *Pair, err error) {
	p := &Pair{}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close(ctx))
		}
	}()
	if p.Carried, err = bundle.Open(ctx, bundle.Config{Root: root, Log: log}); err != nil {
		return nil, err
	}
	if _, err := p.Carried.ImportImages(ctx); err != nil {
		return nil, err
	}
	if p.Client, err = cri.Dial(p.Carried.Endpoint()); err != nil {
		return nil, err
	}
	p.Stock, err = Open(ctx, Config{Programs: programs, Root: filepath.Join(root, "stock"), Images: filepath.Join(p.Carried.Paths().Images(), "carried.tar")})
	return p, err
}

func (p *Pair) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	var errs []error
	if p.Stock != nil {
		errs = append(errs, p.Stock.Close())
	}
	if p.Client != nil {
		errs = append(errs, p.Client.Close())
	}
	if p.Carried != nil {
		errs = append(errs, p.Carried.Close(ctx))
	}
	return errors.Join(errs...)
}
