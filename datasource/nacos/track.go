package nacos

import (
	"math"
	"slices"
	"time"
)

const (
	// confirmAfter is when a reading that nobody gave notice of is read again before it counts.
	confirmAfter = time.Second
	// absentAfter is when the first reading is repeated if it finds no document: servers do not have one at once that has just been published.
	absentAfter = 300 * time.Millisecond
	// confirmWithin is how long no reading is confirmed by the next before the document is taken to be one that is changed all the time, where the newest reading
	// counts. What the server answers by then, however old, is newer than what counted before.
	confirmWithin = 3 * time.Second
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

	// rivalled is whether the last reading was another and has to be confirmed, at confirm: rival is its md5. There have been such since rivalSince.
	rivalled            bool
	rival               string
	rivalSince, confirm time.Duration

	// noticed is whether there was a notice that was not acted on yet, owed whether acting on one has failed, suspected whether something else
	// says that there is another content.
	noticed, owed, suspected bool
	// again are the times to read at because of the last notice, look is the one in any case.
	again []time.Duration
	look  time.Duration
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
	case t.suspected, !t.known && !t.rivalled:
		return math.MinInt64
	}
	next := t.look
	if t.rivalled {
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
// read twice in any case where that counts for a content, and at first, with absentAfter between.
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
		t.rivalled = false
		return false
	}
	clears := t.emptyCounts && md5 == ""
	again := t.rivalled && md5 == t.rival
	late := t.rivalled && now >= t.rivalSince+confirmWithin
	if again && now >= t.confirm || !clears && (noticed || late || !t.known && md5 != "") {
		t.known, t.md5, t.rivalled = true, md5, false
		return true
	}
	if !t.rivalled {
		t.rivalled, t.rivalSince = true, now
	}
	if !again {
		t.rival, t.confirm = md5, now+confirmAfter
		if !t.known && !clears {
			t.confirm = now + absentAfter
		}
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
