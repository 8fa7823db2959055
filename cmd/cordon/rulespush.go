package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cordon-go/cordon/cmd/cordon/internal/rulefile"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulehistory"
	"github.com/cordon-go/cordon/cmd/cordon/internal/rulestore"
	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
	"github.com/cordon-go/cordon/rule"
)

func (r *rules) pushCommand() *cobra.Command {
	p := pusher{rules: r}
	cmd := &cobra.Command{
		Use:   "push {FILE | --version N} ADDRESS",
		Short: "Store a document, after showing what that changes",
		Long: `push stores a document at an address. It is checked first, and one with any fault
is not stored. Then it is shown what changes and what each change means, and
nothing is stored unless --yes or an answer on the terminal says so. If somebody
else changes the document in between, nothing is stored, and it is shown what
they changed. "-" reads the standard input.

What was stored and what was there before are kept on this machine: "rules
history" lists these versions, and --version stores one of them again.

It ends with exit code 0 when the document is stored, or was the same; 1 when it
is refused, the answer was no, or somebody else changed it; and 2 when something
cannot be read, written or reached.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if p.version != 0 {
				return arguments(1, 1)(cmd, args)
			}
			return arguments(2, 2)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p.screen = screen.New(r.out)
			return p.run(cmd.Context(), args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&p.yes, "yes", false, "store it without asking")
	flags.IntVar(&p.version, "version", 0, "store this version from the history, instead of a file")
	flags.BoolVar(&p.reformat, "change-format", false, "store it although it has another form, or is about another kind of rules, than what is there")
	r.addHistory(cmd)
	return cmd
}

// pusher stores a document.
type pusher struct {
	*rules
	screen        *screen.Screen
	yes, reformat bool
	version       int
}

// errNoAnswer says that nobody is there to agree.
var errNoAnswer = errors.New("nobody is there to ask whether to store it: want --yes, or a terminal")

func (p *pusher) run(ctx context.Context, args []string) error {
	target, err := p.at(args[len(args)-1])
	if err != nil {
		return err
	}
	defer target.Close()
	next, err := p.next(ctx, target, args[0])
	if err != nil {
		return err
	}
	if ok, err := p.check(target, &next); !ok {
		return err
	}
	before := side{name: target.String()}
	if before.content, err = target.Read(ctx); err != nil {
		return fmt.Errorf("%s: %w", target, err)
	}
	if err := p.decodeBoth(&before, &next); err != nil {
		return err
	}
	d := compare(&before, &next)
	d.print(p.screen)
	switch {
	case d.identical():
		return p.screen.Err()
	case !p.reformat && before.document == nil && !named(target, next.document):
		return bad{fmt.Errorf("nothing is stored: %s is %s, and the name of %s says that it is about %s; --change-format stores it all the same",
			next.name, next.about(), target, rulefile.KindByName(target.Name()))}
	case !p.reformat && !fits(before.document, next.document):
		return bad{fmt.Errorf("nothing is stored: %s is %s and would take the place of %s, so that who reads it as that would refuse it; --change-format stores it all the same",
			next.name, next.about(), before.about())}
	case before.document != nil && before.document.Good() > 0 && next.document.Good() == 0:
		p.screen.Printf("  %s no rule is left", p.screen.Paint(screen.Red, "!"))
	}
	if err := errors.Join(p.screen.Err(), p.agreed(args[0])); err != nil {
		return err
	}
	return p.store(ctx, target, &before, &next, d.String())
}

// next returns what is to be stored.
func (p *pusher) next(ctx context.Context, target place, from string) (side, error) {
	if p.version == 0 {
		return p.read(ctx, from)
	}
	h, kept, err := p.historyOf(target)
	if err == nil && !kept {
		err = errors.New("--version needs a history")
	}
	if err != nil {
		return side{}, err
	}
	_, data, err := h.Read(p.version)
	if err != nil {
		return side{}, fmt.Errorf("version %d of %s: %w", p.version, target, err)
	}
	return side{name: fmt.Sprintf("version %d", p.version), content: rulestore.Content{Data: data}}, nil
}

// check says what is wrong with the document before anybody is asked for anything. It reports false if that is something, or if it fails.
func (p *pusher) check(target place, next *side) (bool, error) {
	if p.as.Kind == "" && p.as.Format != string(rulefile.Native) {
		if _, err := next.decode(p.as); rulefile.IsUnclear(err) {
			p.as.Kind = rulefile.KindByName(target.Name())
		}
	}
	d, err := next.decode(p.as)
	switch {
	case rulefile.IsUnclear(err):
		return true, nil // what is there may tell
	case err != nil:
		return false, err
	case d.OK():
		return true, nil
	}
	printDocument(p.screen, d)
	return false, bad{fmt.Errorf("nothing is stored: %s has faults", next.name)}
}

// decodeBoth reads what is there and what is to be stored. It does not matter if the first cannot be read.
func (p *pusher) decodeBoth(before, next *side) error {
	err := p.decode(before, next)
	if next.document == nil || err != nil && !rulefile.IsUnclear(err) {
		return err
	}
	if before.document == nil && !before.content.Absent {
		before.document = &rulefile.Document{Name: before.name, Broken: true, Problems: rule.Problems{{Source: before.name, Index: -1, Message: err.Error()}}}
	}
	if !next.document.OK() { // by the kind that what is there has told
		printDocument(p.screen, next.document)
		return bad{fmt.Errorf("nothing is stored: %s has faults", next.name)}
	}
	return nil
}

// named reports whether the target's name does not say that it is about something else.
func named(target place, next *rulefile.Document) bool {
	kind := rulefile.KindByName(target.Name())
	return kind == "" || next.Kind == "" || next.Kind == kind
}

// fits reports whether who reads the one document would read the other as well.
func fits(before, next *rulefile.Document) bool {
	switch {
	case before == nil || before.Broken:
		return true
	case before.Format == rulefile.Sentinel || next.Format == rulefile.Sentinel: // an empty list is of either dialect
		return (before.Format == rulefile.Native) == (next.Format == rulefile.Native) && before.Kind == next.Kind
	}
	return before.Format == next.Format && before.Kind == next.Kind
}

// agreed asks whether it is to be stored.
func (p *pusher) agreed(from string) error {
	if p.yes {
		return nil
	}
	if from == "-" || !p.terminal(p.in) {
		return errNoAnswer
	}
	fmt.Fprint(p.err, "store it? [y/N] ")
	answer, err := bufio.NewReader(p.in).ReadString('\n')
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer == "y" || answer == "yes" {
		return nil
	}
	if err != nil {
		fmt.Fprintln(p.err) // the question's line has no end yet
	}
	return bad{errors.New("nothing is stored")}
}

// store stores it, and keeps what was there and what is there now.
func (p *pusher) store(ctx context.Context, target place, before, next *side, changes string) error {
	h, kept, err := p.historyOf(target)
	if err != nil {
		return err
	}
	v := rulehistory.Version{Time: p.clock.Wall(p.clock.Now()).UTC(), Target: target.String(), User: userName()}
	var old rulehistory.Version
	if kept && !before.content.Absent {
		if old, err = h.Add(v, before.content.Data); err != nil {
			return fmt.Errorf("nothing is stored, as what is there could not be kept: %w (--history none keeps nothing)", err)
		}
	}
	if err := target.Write(ctx, next.content.Data, before.content); err != nil {
		if errors.Is(err, rulestore.ErrConflict) {
			return p.conflict(ctx, target, before)
		}
		return fmt.Errorf("%s: %w", target, err)
	}
	if !kept {
		p.screen.Printf("stored")
		return p.screen.Err()
	}
	v.Source, v.Changes = next.name, changes
	if v, err = h.Add(v, next.content.Data); err != nil {
		p.screen.Printf("stored")
		return fmt.Errorf("it is stored, but could not be kept in the history: %w", err)
	}
	text := fmt.Sprintf("stored as version %d", v.Number)
	if old.Number != 0 {
		text += fmt.Sprintf("; what was there before is version %d", old.Number)
	}
	p.screen.Printf("%s", text)
	return p.screen.Err()
}

// conflict shows what somebody else has changed.
func (p *pusher) conflict(ctx context.Context, target place, before *side) error {
	now := side{name: target.String() + ", now"}
	var err error
	if now.content, err = target.Read(ctx); err != nil {
		return fmt.Errorf("nothing is stored, as %s was changed meanwhile; now it cannot be read: %w", target, err)
	}
	p.screen.Printf("\nmeanwhile somebody else has changed it:")
	if _, err := now.decode(p.as); err != nil && !rulefile.IsUnclear(err) {
		return err
	}
	shown := *before
	shown.name += ", as shown above"
	compare(&shown, &now).print(p.screen)
	return bad{fmt.Errorf("nothing is stored, as %s was changed meanwhile; push again to decide anew", target)}
}

// userName is who runs the command.
func userName() string {
	u, err := user.Current()
	if err != nil {
		return ""
	}
	return u.Username
}
