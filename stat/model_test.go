package stat_test

import (
	"fmt"
	"time"

	"github.com/cordon-go/cordon/stat"
)

const (
	eraBuckets = int64(1) << 22 // how far behind the latest bucket an addition may be
	maxCount   = int64(1)<<40 - 1
)

// An event is one addition to the model.
type event struct {
	bucket  int64
	counter int
	n       int64
	emptied bool // by a reset
}

// A model is what a Window promises, told in the plainest way: a list of the additions that
// were in time, looked through for every question.
type model struct {
	width    time.Duration
	buckets  int64
	counters int

	events []event
	resets []int64 // the buckets up to which the window was emptied
	latest int64   // the latest bucket seen
	total  []int64
	late   []int64
}

func newModel(width time.Duration, buckets, counters int) *model {
	return &model{
		width: width, buckets: int64(buckets), counters: counters,
		total: make([]int64, counters), late: make([]int64, counters),
	}
}

func (m *model) bucket(now time.Duration) int64 {
	return min(int64(max(now, 0)/m.width), 1<<52-1)
}

func (m *model) add(now time.Duration, counter int, n int64) bool {
	if counter < 0 || counter >= m.counters {
		return false
	}
	n = min(max(n, 0), maxCount)
	m.total[counter] += n
	bucket := m.bucket(now)
	m.latest = max(m.latest, bucket)
	if !m.inTime(bucket, counter) {
		m.late[counter] += n
		return false
	}
	m.events = append(m.events, event{bucket: bucket, counter: counter, n: n})
	return true
}

func (m *model) inTime(bucket int64, counter int) bool {
	for _, reset := range m.resets {
		if bucket < reset {
			return false
		}
	}
	return m.fresh(bucket) && !m.taken(bucket, counter)
}

// fresh reports whether a bucket is near enough to the latest one to be told from others.
func (m *model) fresh(bucket int64) bool { return bucket/eraBuckets >= m.latest/eraBuckets-1 }

// taken reports whether a later bucket of the counter has the bucket's place.
func (m *model) taken(bucket int64, counter int) bool {
	for _, e := range m.events {
		if !e.emptied && e.counter == counter && e.bucket > bucket && (e.bucket-bucket)%m.buckets == 0 {
			return true
		}
	}
	return false
}

func (m *model) reset(now time.Duration) {
	bucket := m.bucket(now)
	m.latest = max(m.latest, bucket)
	m.resets = append(m.resets, bucket)
	for i := range m.events {
		if m.events[i].bucket <= bucket {
			m.events[i].emptied = true
		}
	}
}

// count returns what a bucket holds of a counter.
func (m *model) count(bucket int64, counter int) int64 {
	if !m.fresh(bucket) || m.taken(bucket, counter) {
		return 0
	}
	var count int64
	for _, e := range m.events {
		if !e.emptied && e.bucket == bucket && e.counter == counter {
			count = min(count+e.n, maxCount)
		}
	}
	return count
}

func (m *model) sum(now time.Duration, counter int) int64 {
	if counter < 0 || counter >= m.counters {
		return 0
	}
	var sum int64
	last := m.bucket(now)
	seen := make(map[int64]bool)
	for _, e := range m.events {
		if e.counter == counter && e.bucket > last-m.buckets && e.bucket <= last && !seen[e.bucket] {
			seen[e.bucket] = true
			sum += m.count(e.bucket, counter)
		}
	}
	return sum
}

// A pair is a window and its model, given the same.
type pair struct {
	window *stat.Window
	model  *model
}

func newPair(width time.Duration, buckets, counters int) pair {
	return pair{stat.NewWindow(width, buckets, counters), newModel(width, buckets, counters)}
}

func (p pair) add(now time.Duration, counter int, n int64) error {
	if got, want := p.window.Add(now, counter, n), p.model.add(now, counter, n); got != want {
		return fmt.Errorf("Add(%d, %d, %d) = %v, want %v", now, counter, n, got, want)
	}
	return nil
}

func (p pair) reset(now time.Duration) {
	p.window.Reset(now)
	p.model.reset(now)
}

// check compares everything that can be read of the window that ends at now.
func (p pair) check(now time.Duration) error {
	sums := make([]int64, p.model.counters)
	p.window.Sums(now, sums)
	for counter := -1; counter <= p.model.counters; counter++ {
		want := p.model.sum(now, counter)
		if got := p.window.Sum(now, counter); got != want {
			return fmt.Errorf("Sum(%d, %d) = %d, want %d", now, counter, got, want)
		}
		if counter < 0 || counter == p.model.counters {
			continue
		}
		if sums[counter] != want {
			return fmt.Errorf("Sums(%d)[%d] = %d, want %d", now, counter, sums[counter], want)
		}
		if got, want := p.window.Total(counter), p.model.total[counter]; got != want {
			return fmt.Errorf("Total(%d) = %d, want %d", counter, got, want)
		}
		if got, want := p.window.Late(counter), p.model.late[counter]; got != want {
			return fmt.Errorf("Late(%d) = %d, want %d", counter, got, want)
		}
	}
	return p.checkBuckets(now)
}

func (p pair) checkBuckets(now time.Duration) (err error) {
	last := p.model.bucket(now)
	next := max(last-p.model.buckets+1, 0)
	p.window.Each(now, func(start time.Duration, counts []int64) {
		if want := time.Duration(next) * p.model.width; start != want && err == nil {
			err = fmt.Errorf("Each(%d): start %d, want %d", now, start, want)
		}
		for counter, got := range counts {
			if want := p.model.count(next, counter); got != want && err == nil {
				err = fmt.Errorf("Each(%d): bucket %d has %d of counter %d, want %d", now, next, got, counter, want)
			}
		}
		next++
	})
	if next != last+1 && err == nil {
		err = fmt.Errorf("Each(%d) ended before bucket %d, want after %d", now, next, last)
	}
	return err
}
