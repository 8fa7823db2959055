package demo

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cordon-go/cordon/cmd/cordon/internal/screen"
)

// mistakeRefused: documents that are wrong are refused with a reason, and the rules in force stay.
func (s *stage) mistakeRefused(ctx context.Context) error {
	words := s.store.words()
	s.title("A mistake in the "+words.document+" changes nothing", "a misspelt key, then a "+words.document+" cut short in the middle of a "+words.write)
	from := s.clock.Now()
	s.search.load.perSecond.Store(searchRate)
	good := s.rules.document()
	misspelt := strings.Replace(good, "limit: 200", "limti: 5000", 1)
	if err := s.mistake(ctx, "limit misspelt as limti", misspelt); err != nil {
		return err
	}
	if err := s.mistake(ctx, "the "+words.document+" cut short", good[:strings.Index(good, "search\n    limit")]); err != nil {
		return err
	}
	if err := s.store.replace(ctx, good); err != nil {
		return err
	}
	healed, err := s.await(ctx, awaitReport, func() bool { return s.front.sourceError() == "" })
	if err != nil {
		return err
	}
	s.found(healed, "with the good %s back, the source is well again", words.document)
	if err := s.settle(ctx, s.search); err != nil {
		return err
	}
	s.judgeLimit(s.rules.searchLimit, from, s.clock.Now())
	s.outcome("mistakes: two wrong documents refused with a reason, the rules in force stayed")
	return nil
}

// mistake writes a wrong document over the rule document and finds whether it is refused, saying why.
func (s *stage) mistake(ctx context.Context, what, document string) error {
	before := s.journal.reportCount()
	if err := s.store.overwrite(ctx, document); err != nil {
		return err
	}
	told, err := s.await(ctx, awaitReport, func() bool { return s.journal.reportCount() > before })
	if err != nil {
		return err
	}
	if !told {
		return fmt.Errorf("%s: not noticed within %v", what, awaitReport)
	}
	report := s.journal.reportsSince(before)[0]
	// The source's health is told after the report.
	unwell, err := s.await(ctx, awaitReport, func() bool { return s.front.sourceError() != "" })
	if err != nil {
		return err
	}
	s.found(unwell && !report.Applied && !report.OK(), "%s: refused, the old rules stay", what)
	for _, problem := range report.Problems {
		s.screen.Printf("       %s", s.screen.Paint(screen.Yellow, s.store.shorten(problem.Error())))
	}
	return s.let(ctx, 1200*time.Millisecond)
}
