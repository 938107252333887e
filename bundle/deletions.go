package bundle

import (
	"context"
	"log/slog"
	"time"

	eventsapi "github.com/containerd/containerd/api/services/events/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lifepod/lifepod/cri"
)

const (
	// deletionSettles is for how long a container has been deleted before its shim is
	// looked for: a shim ends by itself in a fraction of that.
	deletionSettles = 2 * time.Second
	// deletionsApart is how much longer the first waits for others, which are looked for together.
	deletionsApart = time.Second
	// deletionRetry is the pause before containerd is asked for events again.
	deletionRetry = time.Second
)

// deletions are the containers that containerd has deleted lately. A shim that has
// the name of one of them, and still lives, is lost: the periodic look takes longer to
// be sure, because it can't tell such a shim from one whose sandbox is being made.
type deletions struct {
	paths Paths
	log   *slog.Logger
	// settled receives IDs of containers a while after their deletion.
	settled chan []string
}

// followDeletions begins to listen. It ends with ctx; what happens while containerd
// does not answer is left to the periodic look.
func followDeletions(ctx context.Context, paths Paths, log *slog.Logger) *deletions {
	d := &deletions{paths: paths, log: log, settled: make(chan []string)}
	heard := make(chan string)
	go d.settle(ctx, heard)
	go func() {
		for ctx.Err() == nil {
			err := d.listen(ctx, heard)
			log.Debug("containerd's events ended", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(deletionRetry):
			}
		}
	}()
	return d
}

// listen passes on what containerd says until it says no more.
func (d *deletions) listen(ctx context.Context, heard chan<- string) error {
	client, err := cri.Dial("unix://" + d.paths.Socket())
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // it was only listened to
	stream, err := eventsapi.NewEventsClient(client.Conn).Subscribe(ctx, &eventsapi.SubscribeRequest{
		Filters: []string{`namespace==` + namespace + `,topic=="/containers/delete"`},
	})
	if err != nil {
		return err
	}
	for {
		envelope, err := stream.Recv()
		if err != nil {
			return err
		}
		select {
		case heard <- deletedContainer(envelope.GetEvent().GetValue()):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// deletedContainer is the ID in a ContainerDelete of containerd's API, its field 1;
// empty if there is none. The package of that type brings a second implementation of
// protobuf with it.
func deletedContainer(event []byte) string {
	number, kind, n := protowire.ConsumeTag(event)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return ""
	}
	id, _ := protowire.ConsumeString(event[n:])
	return id
}

// settle holds IDs back until it is time to look for their shims.
func (d *deletions) settle(ctx context.Context, heard <-chan string) {
	type deleted struct {
		id string
		at time.Time
	}
	var young []deleted // the oldest first
	var ready []string
	var due <-chan time.Time
	for {
		settled := d.settled
		if len(ready) == 0 {
			settled = nil // nothing to send
		}
		if due == nil && len(young) > 0 {
			due = time.After(deletionSettles + deletionsApart - time.Since(young[0].at))
		}
		select {
		case <-ctx.Done():
			return
		case id := <-heard:
			young = append(young, deleted{id, time.Now()})
		case <-due:
			due = nil
			for len(young) > 0 && time.Since(young[0].at) >= deletionSettles {
				ready, young = append(ready, young[0].id), young[1:]
			}
		case settled <- ready:
			ready = nil
		}
	}
}
