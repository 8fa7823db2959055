package main

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulehistory"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulestore"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

func (r *rules) historyCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "history ADDRESS [VERSION]",
		Short: "List the versions of a document that were pushed from here, or print one",
		Long: `history lists what "rules push" has stored at an address from this machine, and
what that took the place of, newest first; or prints one of these versions. The
newest ` + strconv.Itoa(rulehistory.Most) + ` of each document are kept, in $XDG_STATE_HOME/cordon/rules
(~/.local/state/cordon/rules), or in the folder that --history names.

It ends with exit code 0 when it has listed or printed, and 2 when there is no
such version, or it cannot be read.`,
		Args: arguments(1, 2),
		RunE: func(_ *cobra.Command, args []string) error {
			a, err := rulestore.ParseAddress(args[0])
			if err != nil {
				return err
			}
			h, kept, err := r.historyOf(place{Address: a})
			switch {
			case err != nil:
				return err
			case !kept:
				return fmt.Errorf("--history is none: there is none to list")
			case len(args) == 2:
				return r.printVersion(h, args[0], args[1])
			}
			return r.list(h, args[0])
		},
	}
	cmd.Flags().BoolVar(&r.json, "json", false, "print JSON")
	r.addHistory(cmd)
	return cmd
}

// addHistory adds the flag that says where versions are kept.
func (r *rules) addHistory(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.history, "history", "", "the folder that versions are kept in, or none; default: the user's state folder")
}

func (r *rules) list(h rulehistory.History, address string) error {
	versions, err := h.List()
	if err != nil {
		return err
	}
	if r.json {
		if versions == nil {
			versions = []rulehistory.Version{}
		}
		return writeJSON(r.out, versions)
	}
	p := screen.New(r.out)
	if len(versions) == 0 {
		p.Printf("no versions of %s are kept here", address)
		return p.Err()
	}
	rows := [][]string{{"VERSION", "TIME", "USER", "BYTES", "CHANGES", "FROM"}}
	for _, v := range versions {
		from, changes := v.Source, v.Changes
		if from == "" {
			from, changes = "was there before", "–"
		}
		if v.Damaged != "" {
			rows = append(rows, []string{strconv.Itoa(v.Number), "–", "–", "–", "–", "damaged: " + v.Damaged})
			continue
		}
		rows = append(rows, []string{strconv.Itoa(v.Number), v.Time.UTC().Format(time.RFC3339), v.User, strconv.Itoa(v.Bytes), changes, from})
	}
	for _, line := range table(p, rows, 1, 2, 4) {
		p.Printf("%s", line)
	}
	return p.Err()
}

func (r *rules) printVersion(h rulehistory.History, address, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no version; want a number that rules history lists", number)
	}
	_, data, err := h.Read(n)
	if err != nil {
		return fmt.Errorf("version %d of %s: %w", n, address, err)
	}
	_, err = r.out.Write(data)
	return err
}
