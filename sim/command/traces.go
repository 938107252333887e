package command

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/lifepod/lifepod/sim/importing"
	"github.com/lifepod/lifepod/sim/importing/traces"
)

// importTrace imports a trace of SimKube into a new folder, and says the exit code.
func (o *importFlags) importTrace(files []importing.File) (int, error) {
	switch {
	case len(files) > 1:
		return ExitError, errors.New("want one trace of SimKube, and no other file with it")
	case o.pod != "" || o.owner != "" || o.without != nil:
		return ExitError, errors.New("--pod, --owner and --without are for Stages of KWOK: a trace of SimKube has the pods and their owners")
	case o.out == "":
		return ExitError, errors.New("of a trace of SimKube several files are written: want --out with a folder for them")
	}
	result, err := traces.Import(files[0].Name, files[0].Data)
	if err != nil {
		return ExitError, err
	}
	for _, n := range result.Notes {
		o.say(n.String())
	}
	if len(result.Files) == 0 {
		o.say("lifepod: the trace has no objects, and no pods whose containers are known: there is nothing to import")
		return ExitNothing, nil
	}
	if err := o.writeAll(result.Files); err != nil {
		return ExitError, err
	}
	var flags []string
	for _, s := range result.Scenarios {
		flags = append(flags, "--scenario "+quoted(s.Pods+"="+strings.TrimSuffix(o.out, "/")+"/"+s.File))
	}
	if len(flags) == 0 {
		return 0, nil
	}
	if _, err := fmt.Fprintln(o.stdout, strings.Join(flags, " \\\n")); err != nil {
		return ExitError, fmt.Errorf("write standard output: %w", err)
	}
	return 0, nil
}

// writeAll writes files below the folder, which is to be new or empty: files of another import would be taken for part of it.
func (o *importFlags) writeAll(files []traces.File) error {
	has, err := os.ReadDir(o.out)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write trace: %w", err)
	}
	if len(has) > 0 {
		return fmt.Errorf("write trace: the folder %s is not empty", o.out)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil { //nolint:gosec // as a shell would
		return fmt.Errorf("write trace: %w", err)
	}
	folder, err := os.OpenRoot(o.out)
	if err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	if err := errors.Join(writeBelow(folder, files), folder.Close()); err != nil {
		return fmt.Errorf("write trace: %w", err)
	}
	return nil
}

func writeBelow(folder *os.Root, files []traces.File) error {
	if err := folder.MkdirAll(traces.Folder, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := folder.WriteFile(f.Name, f.Data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// quoted is a word as a shell takes it.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }
