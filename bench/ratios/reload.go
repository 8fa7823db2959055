package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cordon-go/cordon"
	"github.com/cordon-go/cordon/bench"
	"github.com/cordon-go/cordon/datasource"
	"github.com/cordon-go/cordon/rule"
)

// reloads measures how long a large document takes from its arrival to being in force, with all that a source's documents go through, and what
// callers feel of it.
func reloads(int, time.Duration) ([]Result, error) {
	const rules = 10_000
	r, err := newReloader(rules)
	if err != nil {
		return nil, err
	}
	defer r.close()
	var took []float64
	for range 10 {
		d, err := r.reload()
		if err != nil {
			return nil, err
		}
		took = append(took, d)
	}
	arrival := Result{
		Work: fmt.Sprintf("a JSON document of 10,000 rules (%.1f MB), from arrival to in force", float64(len(r.editions[0]))/1e6),
		Unit: "ms", Median: median(took), Best: slices.Min(took), Target: 400,
	}
	arrival.judge()
	felt, err := r.felt()
	return append([]Result{arrival}, felt...), err
}

// A reloader is an engine under load whose source delivers one large document after the other, and keeps each in a last-good file.
type reloader struct {
	engine   *cordon.Engine
	names    []string
	editions [2][]byte
	sent     int
	feed     feed
	reports  chan rule.Report
	folder   string
}

func newReloader(rules int) (*reloader, error) {
	r := &reloader{feed: make(feed), reports: make(chan rule.Report, 1)}
	for i := range r.editions {
		r.editions[i] = bench.MixedDocument(rules, i)
	}
	for i := range bench.InTurn {
		r.names = append(r.names, bench.LongName(i*rules/bench.InTurn))
	}
	var err error
	if r.folder, err = os.MkdirTemp("", "ratios"); err != nil {
		return nil, err
	}
	if r.engine, err = cordon.New(cordon.WithObserver(cordon.Observer{Report: func(rep rule.Report) { r.reports <- rep }})); err != nil {
		return nil, err
	}
	if _, err = r.engine.Watch(context.Background(), r.feed, cordon.Native, cordon.FirstWithin(0), cordon.LastGood(filepath.Join(r.folder, "rules"))); err != nil {
		return nil, err
	}
	if _, err := r.reload(); err != nil {
		return nil, err
	}
	return r, r.call()
}

func (r *reloader) close() {
	r.engine.Close()
	os.RemoveAll(r.folder)
}

// reload has another document delivered and waits until it is in force. It returns how many milliseconds that took.
func (r *reloader) reload() (float64, error) {
	r.sent++
	var rep rule.Report
	took := ms(func() {
		r.feed <- datasource.Document{Data: r.editions[r.sent%2], Version: fmt.Sprint(r.sent)}
		rep = <-r.reports
	})
	if !rep.OK() {
		return 0, rep.Problems
	}
	return took, nil
}

// call makes a hundred calls of resources that have rules.
func (r *reloader) call() error {
	for i := range 100 {
		ent, err := r.engine.Enter(context.Background(), cordon.Request{Resource: r.names[i%len(r.names)]})
		if err == nil {
			ent.Exit(nil)
		}
	}
	return nil
}

// felt measures the 99th percentile and the worst of batches of calls while one document after the other comes into force, against those
// without, which other processes on the machine have their share in; five times.
func (r *reloader) felt() ([]Result, error) {
	var ratios, worsts []float64
	for range 5 {
		calm, calmWorst, err := percentile(r.call)
		if err != nil {
			return nil, err
		}
		stop := make(chan struct{})
		var wg sync.WaitGroup
		var reloadErr error
		wg.Go(func() {
			for reloadErr == nil {
				select {
				case <-stop:
					return
				default:
					_, reloadErr = r.reload()
				}
			}
		})
		busy, worst, err := percentile(r.call)
		close(stop)
		wg.Wait()
		if err != nil || reloadErr != nil {
			return nil, errors.Join(err, reloadErr)
		}
		ratios = append(ratios, float64(busy)/float64(calm))
		worsts = append(worsts, float64(max(worst-calmWorst, 0))/float64(time.Millisecond))
	}
	p99 := Result{Work: "callers' p99 while documents of 10,000 rules come into force", Unit: "× without", Median: median(ratios), Best: slices.Min(ratios), Target: 1.5}
	p99.judge()
	pause := Result{Work: "callers' worst pause meanwhile, besides that without", Unit: "ms", Median: median(worsts), Best: slices.Min(worsts), Target: 5}
	pause.judge()
	return []Result{p99, pause}, nil
}

// feed is a source that delivers what it is sent.
type feed chan datasource.Document

func (feed) Name() string { return "feed" }

func (f feed) Watch(ctx context.Context, deliver func(datasource.Update)) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case d := <-f:
			deliver(datasource.Update{Document: d})
		}
	}
}
