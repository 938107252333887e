package ipam

import (
	"errors"
	"flag"
	"fmt"
	"io"
)

const usage = `usage: lifepod-ipam release --data-dir DIR UID…

Without arguments lifepod-ipam is a CNI plugin (CNI_COMMAND, configuration on
standard input).
`

// Command runs what is asked for on the command line, beside CNI: release. It
// gives the exit code: 0 done, 1 not done, 2 not understood.
func Command(args []string, stderr io.Writer) int {
	flags := flag.NewFlagSet("lifepod-ipam release", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() { fmt.Fprint(stderr, usage) }
	dir := flags.String("data-dir", "", "folder of the address store")
	if len(args) == 0 || args[0] != "release" {
		flags.Usage()
		return 2
	}
	if err := flags.Parse(args[1:]); err != nil {
		return 2
	}
	if *dir == "" || flags.NArg() == 0 {
		flags.Usage()
		return 2
	}
	if err := release(*dir, flags.Args()); err != nil {
		fmt.Fprintln(stderr, "lifepod-ipam:", err)
		return 1
	}
	return 0
}

func release(dir string, pods []string) (err error) {
	store, err := Open(dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	for _, pod := range pods {
		if err := store.Release(pod); err != nil {
			return err
		}
	}
	return nil
}
