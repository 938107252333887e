package backup

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/grpclog"

	"github.com/lifepod/lifepod/cluster/etcd"
	"github.com/lifepod/lifepod/internal/commandline"
)

// Places finds the data folder of the cluster of a root, and its run folder.
type Places func(root string) (data, runDir string, err error)

// of finds those of the root that a command was given.
func (p Places) of(c *cobra.Command) (data, runDir string, err error) {
	root, err := c.Flags().GetString("root")
	if err != nil {
		return "", "", err
	}
	return p(root)
}

// NewCommand is "lifepod backup", below a command with the flag --root.
func NewCommand(places Places, version string) *cobra.Command {
	c := &cobra.Command{
		Use:   "backup [FILE]",
		Short: "Save the running cluster's state and keys in a file",
		Long: `Saves the state of the cluster that runs on this machine, a snapshot of its etcd,
and its keys in FILE (default: lifepod-TIME.tar.zst in this folder), from which
lifepod restore makes the cluster again. The file is as secret as the keys.
Volumes and images are not in it.`,
		Args: commandline.Arguments(0, 1),
		RunE: func(c *cobra.Command, args []string) error {
			data, runDir, err := places.of(c)
			if err != nil {
				return err
			}
			if err := running(data, runDir); err != nil {
				return err
			}
			file := FileName(time.Now())
			if len(args) > 0 {
				file = args[0]
			}
			grpclog.SetLoggerV2(grpclog.NewLoggerV2(io.Discard, io.Discard, io.Discard)) // our errors say it all
			m, err := Save(c.Context(), Config{Endpoint: etcd.Endpoint(runDir), Data: data, Version: version}, file)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "backup of revision %d in %s\n", m.Revision, file)
			return err
		},
	}
	return c
}

// NewRestoreCommand is "lifepod restore".
func NewRestoreCommand(places Places) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make the cluster's state and keys of a backup",
		Long: `Makes the cluster's data folder of a backup, which is verified before anything is
touched. The cluster must not run. lifepod up starts it then.`,
		Args: commandline.Arguments(1, 1),
		RunE: func(c *cobra.Command, args []string) error {
			data, _, err := places.of(c)
			if err != nil {
				return err
			}
			release, err := Hold(data)
			if err != nil {
				return fmt.Errorf("restore %s: %w", args[0], err)
			}
			defer release()
			r, err := Restore(args[0], data, force)
			if err != nil {
				return err
			}
			if r.Kept != "" {
				fmt.Fprintf(c.OutOrStdout(), "what was there is kept in %s\n", r.Kept)
			}
			_, err = fmt.Fprintf(c.OutOrStdout(), "restored the cluster of %s, revision %d, in %s\n", r.Time.Format(time.RFC3339), r.Revision, data)
			return err
		},
	}
	c.Flags().BoolVar(&force, "force", false, "replace a cluster that is there; its data is kept beside it as DATA.TIME")
	return c
}

// running says that a cluster can't be saved because it does not run: its etcd would
// be waited for without end.
func running(data, runDir string) error {
	connection, err := net.Dial("unix", strings.TrimPrefix(etcd.Endpoint(runDir), "unix://"))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return errors.New("only root may save the cluster: run it with sudo")
	case err != nil:
		return fmt.Errorf("no cluster runs in %s: begin it with lifepod up (%w)", filepath.Dir(data), err)
	}
	return connection.Close()
}
