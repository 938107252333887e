// Size prints what a built lifepod takes, and which of its parts takes how much.
//
//	go run ./hack/size [-limit MIB] FILE
//
// It fails if that is more than the limit. The parts are those in bundle/assets, which must be
// those that the file was built with.
package main

import (
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/lifepod/lifepod/bundle/manifest"
)

const assets = "bundle/assets"

func main() {
	log.SetFlags(0)
	limit := flag.Int64("limit", 0, "fail above so many `MiB`")
	flag.Parse()
	if flag.NArg() != 1 {
		log.Fatal("size: want the file of a built lifepod")
	}
	size, err := print(os.Stdout, flag.Arg(0))
	if err != nil {
		log.Fatalf("size: %v", err)
	}
	if *limit > 0 && size > *limit<<20 {
		log.Fatalf("size: %s is larger than %d MiB", flag.Arg(0), *limit)
	}
}

// print returns the file's size in bytes.
func print(w io.Writer, file string) (int64, error) {
	whole, err := os.Stat(file)
	if err != nil {
		return 0, err
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "%s\t\t  %s\n", mebibytes(whole.Size()), file)
	packed := int64(0)
	for _, a := range []struct{ archive, manifest, what string }{
		{manifest.ArchiveName, manifest.Name, "the runtime, packed"},
		{manifest.ClusterArchiveName, manifest.ClusterName, "the program of clusters, packed"},
	} {
		size, err := printArchive(table, a.archive, a.manifest, a.what)
		if err != nil {
			return 0, err
		}
		packed += size
	}
	fmt.Fprintf(table, "%s\t\t  lifepod's own program\n", mebibytes(whole.Size()-packed))
	return whole.Size(), table.Flush()
}

func printArchive(w io.Writer, archive, list, what string) (int64, error) {
	info, err := os.Stat(filepath.Join(assets, archive))
	if err != nil {
		return 0, err
	}
	text, err := os.ReadFile(filepath.Join(assets, list))
	if err != nil {
		return 0, err
	}
	m, err := manifest.Parse(text)
	if err != nil {
		return 0, err
	}
	fmt.Fprintf(w, "%s\t\t  %s; unpacked:\n", mebibytes(info.Size()), what)
	for _, f := range m.Files {
		fmt.Fprintf(w, "\t%s\t  %s\n", mebibytes(f.Size), f.Path)
	}
	return info.Size(), nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20)) }
