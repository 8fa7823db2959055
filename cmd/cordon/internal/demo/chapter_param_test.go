package demo

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/extractor"
)

func TestJudgeHot(t *testing.T) {
	spent := evenly(0, time.Millisecond, 5)                                                                     // the burst
	earned := evenly(100*time.Millisecond, 100*time.Millisecond, 20)                                            // and what the limit gives
	freed := append(append([]time.Duration{}, spent...), evenly(500*time.Millisecond, time.Millisecond, 11)...) // as if it had been forgotten
	for name, c := range map[string]struct {
		admitted []time.Duration
		missing  int
		others   tally
		held     bool
		says     string
	}{
		"held":                {admitted: append(spent, earned...), others: tally{Sent: 9, OK: 9}, held: true, says: "fullest second by admission: 14 calls, at most 10 + 5"},
		"forgotten":           {admitted: freed, others: tally{Sent: 9, OK: 9}, says: "fullest second by admission: 16 calls"},
		"hardly used":         {admitted: spent, others: tally{Sent: 9, OK: 9}, says: "fullest second by admission: 5 calls"},
		"lost on the way":     {admitted: append(spent, earned...), missing: 1, others: tally{Sent: 9, OK: 9}, says: "25 of its calls were admitted, but 24 arrived"},
		"others were refused": {admitted: append(spent, earned...), others: tally{Sent: 9, OK: 8, Limited: 1}, says: "everybody else was served: 8 of 9 calls of 1000 users, 1 refused"},
		"nobody else came":    {admitted: append(spent, earned...), says: "everybody else was served: 0 of 0"},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := newBooks()
			s.others = &load{}
			s.others.sent.Store(c.others.Sent)
			s.others.ok.Store(c.others.OK)
			s.others.limited.Store(c.others.Limited)
			s.journal.admissions["cart/"+hotUser] = c.admitted
			s.cart.arrivals[hotUser] = shifted(c.admitted[c.missing:], time.Millisecond)
			s.judgeHot(0, time.Hour)
			require.Equal(t, c.held, len(s.summary.Broken()) == 0, out.String())
			require.Contains(t, out.String(), c.says)
		})
	}
}

// Callers who are told apart are noted apart, and those of a scan not at all.
func TestTheJournalTellsCallersApart(t *testing.T) {
	s, _ := newBooks()
	call := func(user int, origin string) *cordon.CheckedCall {
		return &cordon.CheckedCall{Request: cordon.Request{Resource: "cart", Carrier: &scannedCall{user}, Origin: origin}, Now: 5}
	}
	for _, c := range []*cordon.CheckedCall{call(7, ""), call(8, ""), call(9, scanning)} {
		require.NoError(t, s.journal.Check(c))
		require.Equal(t, c.Request.Origin == scanning, s.journal.idle("cart/7") && s.journal.idle("cart/8"))
		s.journal.Done(c, cordon.Success, 0, true)
	}
	require.Len(t, s.journal.admissions, 2)
	require.Len(t, s.journal.admitted("cart/7"), 1)
	require.True(t, s.journal.idle("cart/7"))

	c := &scannedCall{7}
	_, ok := c.Lookup(extractor.Query, calledBy)
	require.False(t, ok)
	_, ok = c.Lookup(extractor.Header, "Host")
	require.False(t, ok)
	_, err := c.Body(1)
	require.ErrorIs(t, err, extractor.ErrNoBody)
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1_000_000: "1,000,000"} {
		require.Equal(t, want, grouped(n))
	}
}

func TestOthersComeInTurn(t *testing.T) {
	seen := map[string]int{}
	for n := range int64(3 * otherUsers) {
		seen[otherUser(n)]++
	}
	require.Len(t, seen, otherUsers)
	require.NotContains(t, seen, hotUser)
	for _, n := range seen {
		require.Equal(t, 3, n)
	}
}
