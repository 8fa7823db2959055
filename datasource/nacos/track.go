package nacos

import (
	"math"
	"slices"
	"time"
)

const (
	// confirmAfter is when a reading that nobody gave notice of is read again before it counts.
	confirmAfter = time.Second
	// maxRivals is how many different readings in a row are waited for to be confirmed: where there are more, the document
	// is being changed all the time, and the newest one counts.
	maxRivals = 3
	// fullLook is how many times less often a document is read although the server says that it is the same.
	fullLook = 10
	// minRetry and maxRetry bound the pauses after a reading that failed.
	minRetry = time.Second
	maxRetry = 5 * time.Second
)

// afterNotice is when a document is read again after a notice was acted on: the notice of a change that follows at once may be lost.
var afterNotice = [...]time.Duration{time.Second, 3 * time.Second}

// A track decides when one document is read, and which reading counts. It knows no clock: readings of one are arguments.
// Only the client's worker uses it.
type track struct {
	// emptyCounts is whether there being no content is a content.
	emptyCounts bool
	// reread is the steady pace.
	reread time.Duration

	// known is whether any reading has counted yet; md5 is that of the one that did last.
	known bool
	md5   string

	// rival is the md5 of a reading that is another and has to be confirmed, the newest of rivals in a row.
	rival  string
	rivals int

	// noticed is whether there was a notice that was not acted on yet, owed whether acting on one has failed, suspected whether something else
	// says that there is another content.
	noticed, owed, suspected bool
	// again are the times to read at because of the last notice, confirm is the one because of a rival, look the one in any case.
	again   []time.Duration
	confirm time.Duration
	look    time.Duration
	// failures is how many readings in a row have failed; retry is when to try again if any.
	failures int
	retry    time.Duration
	// readAt is when the document was last read, so that those that are due together take turns.
	readAt time.Duration
}

// due returns when the document is to be read next.
func (t *track) due() time.Duration {
	switch {
	case t.noticed:
		return math.MinInt64
	case t.failures > 0:
		return t.retry
	case t.suspected, !t.known && t.rivals == 0:
		return math.MinInt64
	}
	next := t.look
	if t.rivals > 0 {
		next = min(next, t.confirm)
	}
	if len(t.again) > 0 {
		next = min(next, t.again[0])
	}
	return next
}

// begin notes that a reading begins. It reports whether that is because of a notice.
func (t *track) begin(now time.Duration) (noticed bool) {
	noticed = t.noticed || t.owed
	t.noticed, t.owed, t.suspected = false, false, false
	t.again = slices.DeleteFunc(t.again, func(at time.Duration) bool { return at <= now })
	return noticed
}

// take takes a reading; unasked is how long the next may wait if nothing asks for one. It reports whether the reading counts now: it is the first, or it is
// another than the last and there was a notice, or it is the second of its kind with confirmAfter between them. That there is nothing is
// read twice in any case where that counts for a content.
func (t *track) take(now time.Duration, md5 string, noticed bool, unasked time.Duration) (counts bool) {
	t.failures, t.readAt = 0, now
	t.look = now + jitter(unasked)
	if noticed {
		t.again = t.again[:0]
		for _, d := range afterNotice {
			t.again = append(t.again, now+d)
		}
	}
	if t.known && md5 == t.md5 {
		t.rivals = 0
		return false
	}
	clears := t.emptyCounts && md5 == ""
	again := t.rivals > 0 && md5 == t.rival
	switch {
	case again && now >= t.confirm, !clears && (noticed || !t.known || !again && t.rivals >= maxRivals):
		t.known, t.md5, t.rivals = true, md5, 0
		return true
	case !again:
		t.rival, t.rivals, t.confirm = md5, t.rivals+1, now+confirmAfter
	}
	return false
}

// fail takes a failure to read.
func (t *track) fail(now time.Duration, noticed bool) {
	t.owed, t.readAt = t.owed || noticed, now
	t.retry = now + doubled(t.failures, min(minRetry, t.reread), min(maxRetry, t.reread))
	t.failures++
}

// resume makes up, on a new connection, for what failed on an old one.
func (t *track) resume() { t.suspected, t.failures = t.suspected || t.failures > 0, 0 }
