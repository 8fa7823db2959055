package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/cordon-go/cordon/clock"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulehistory"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulestore"
	"github.com/cordon-go/cordon/datasource/nacos"
)

func newRules(s streams) *cobra.Command {
	r := &rules{streams: s, clock: clock.System(), open: rulestore.Open, terminal: isTerminal}
	return r.command()
}

// rules works on documents where they are kept.
type rules struct {
	streams
	clock clock.Clock
	// open opens the store of a document; terminal reports whether somebody sits at the other end of the standard input.
	open     func(rulestore.Address, rulestore.Access) (rulestore.Store, error)
	terminal func(io.Reader) bool

	as      rulefile.As
	tls     nacos.TLS
	history string
	json    bool
}

func (r *rules) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "rules",
		Short: "Pull, compare, push and watch rule documents in files and on Nacos servers",
		Long: `rules works on rule documents where they are kept. An address is a file's path, or
a document on a Nacos server:

  nacos://[user@]host:port/namespace/group/dataId
  nacos+https://...                                  over TLS

The namespace without an id is called public. Several servers of a cluster are
separated by commas; a gRPC port that is not the port plus 1000 is named by
?grpc=9848. The user's password is taken from the environment variable
CORDON_NACOS_PASSWORD; without a user, an access token from CORDON_NACOS_TOKEN.
Neither is ever printed.

What a document holds is told as by "cordon check": by --format and --kind, else
by its name and content.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := cmd.PersistentFlags()
	addAs(flags, &r.as)
	flags.StringVar(&r.tls.CA, "ca", "", "a file of certificates that the server's must be signed by one of")
	flags.StringVar(&r.tls.Cert, "cert", "", "a file with the client's certificate")
	flags.StringVar(&r.tls.Key, "key", "", "a file with the certificate's key")
	flags.StringVar(&r.tls.ServerName, "server-name", "", "what the server's certificate must be for, instead of its address")
	flags.BoolVar(&r.tls.InsecureSkipVerify, "insecure-skip-verify", false, "take any certificate of the server")
	cmd.AddCommand(r.pullCommand(), r.diffCommand(), r.pushCommand(), r.watchCommand(), r.historyCommand())
	return cmd
}

// A place is a document where it is kept.
type place struct {
	rulestore.Address
	rulestore.Store
}

// String names the document as people give it.
func (p place) String() string { return p.Address.String() }

// at opens the document with that address.
func (r *rules) at(text string) (place, error) {
	a, err := rulestore.ParseAddress(text)
	if err != nil {
		return place{}, err
	}
	access := rulestore.Access{Password: os.Getenv("CORDON_NACOS_PASSWORD"), Token: os.Getenv("CORDON_NACOS_TOKEN")}
	if r.tls != (nacos.TLS{}) {
		access.TLS = &r.tls
	}
	store, err := r.open(a, access)
	return place{a, store}, err
}

// logger tells of what goes wrong while a document is watched, and that it is well again.
func (r *rules) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(r.err, nil))
}

// A side is a document that was read to be compared.
type side struct {
	// name is what it is called on the screen; it may tell what is in it.
	name    string
	content rulestore.Content
	// document is what it holds; nil if there is none.
	document *rulefile.Document
}

// read reads the document of that address; "-" is the standard input.
func (r *rules) read(ctx context.Context, address string) (side, error) {
	if address == "-" {
		data, err := io.ReadAll(r.in)
		return side{name: rulefile.Stdin, content: rulestore.Content{Data: data}}, err
	}
	p, err := r.at(address)
	if err != nil {
		return side{}, err
	}
	content, err := p.Read(ctx)
	if err = errors.Join(err, p.Close()); err != nil {
		return side{}, fmt.Errorf("%s: %w", p, err)
	}
	if content.Absent {
		return side{}, fmt.Errorf("%s does not exist", p)
	}
	return side{name: p.String(), content: content}, nil
}

// decode reads what is in the sides. What cannot be told of one is taken to be as in the other.
func (r *rules) decode(sides ...*side) error {
	var unknown []*side
	var told rulefile.As
	var first error
	for _, s := range sides {
		d, err := s.decode(r.as)
		switch {
		case rulefile.IsUnclear(err):
			unknown = append(unknown, s)
			if first == nil {
				first = err
			}
		case err != nil:
			return err
		case d != nil && d.Kind != "":
			told.Kind = d.Kind
		}
	}
	if told.Kind == "" {
		return first
	}
	for _, s := range unknown {
		if _, err := s.decode(rulefile.As{Format: r.as.Format, Kind: told.Kind, Dialect: r.as.Dialect}); err != nil {
			return err
		}
	}
	return nil
}

// decode reads what is in the side, if there is something.
func (s *side) decode(as rulefile.As) (*rulefile.Document, error) {
	if s.content.Absent {
		return nil, nil
	}
	d, err := rulefile.Read(s.name, s.content.Data, as)
	if err == nil {
		s.document = d
	}
	return d, err
}

// about says what is in the side.
func (s *side) about() string {
	switch {
	case s.document == nil:
		return "does not exist"
	case s.document.Broken:
		return "cannot be read"
	}
	return s.document.About()
}

// historyOf returns the history of the document, false where none is to be kept.
func (r *rules) historyOf(p place) (rulehistory.History, bool, error) {
	switch root := r.history; root {
	case "none":
		return rulehistory.History{}, false, nil
	case "":
		root, err := rulehistory.Default()
		return rulehistory.Of(root, p.Key()), true, err
	default:
		return rulehistory.Of(root, p.Key()), true, nil
	}
}

func isTerminal(r io.Reader) bool {
	if i, ok := r.(*interruptible); ok {
		r = i.in
	}
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
