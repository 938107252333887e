package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifepod/lifepod/bundle"
	"github.com/lifepod/lifepod/internal/commandline"
	"github.com/lifepod/lifepod/internal/sentence"
)

// newDocsCommand is "lifepod docs".
func newDocsCommand() *cobra.Command {
	var listen string
	var language sentence.Language
	command := &cobra.Command{
		Use:   "docs [flags]",
		Short: "Show the documentation in a browser, without a network",
		Long: `Show the documentation in a browser, without a network: the guide, all pages and the
contract, with a search, in English and Chinese.

It serves the pages that are in the program, which are of its version, and prints
the link to them, until Ctrl-C.`,
		Args:              commandline.Arguments(0, 0),
		ValidArgsFunction: cobra.NoFileCompletions,

		RunE: func(command *cobra.Command, _ []string) error {
			pages, err := bundle.Docs()
			if err != nil {
				return err
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("--listen: %w", err)
			}
			first := map[sentence.Language]string{sentence.Chinese: "zh/"}[language]
			fmt.Fprintf(command.OutOrStdout(), "http://%s/%s\n", l.Addr(), first)
			server := &http.Server{Handler: docs(pages), ReadHeaderTimeout: 10 * time.Second}
			context.AfterFunc(command.Context(), func() { _ = server.Close() })
			if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
	}
	command.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`address:port`; port 0 is a free one")
	commandline.LanguageVar(command.Flags(), &language)
	return command
}

// docs are the files of a site by their paths. They are the same for everybody, and nothing can be asked of them.
type docs map[string][]byte

func (d docs) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := path.Clean(r.URL.Path)[1:]
	for _, name := range []string{asked, asked + ".html", path.Join(asked, "index.html")} {
		if text, found := d[name]; found {
			http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(text))
			return
		}
	}
	http.NotFound(w, r)
}
