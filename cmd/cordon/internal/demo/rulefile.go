package demo

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// rules are the numbers in the demo's rule document that its chapters change.
type rules struct {
	searchLimit  int
	payThreshold float64
	reportLimit  int
	cartLimit    int
	cartBurst    int
	slowStart    time.Duration
}

// document writes the rules as people would.
func (r rules) document() string {
	return fmt.Sprintf(`# The rules of cordon's demo. Edit and save: the gateway follows within a second.
cordon: 1

flow:                       # at most so many calls in any second
  - id: search
    resource: search
    limit: %d
    per: 1s

concurrency:                # at most so many calls at once
  - id: report
    resource: report
    limit: %d

breaker:                    # stop calling what keeps failing
  - id: pay
    resource: pay
    trip: errorRatio
    threshold: %g
    window: 2s
    minCalls: 20
    open: 1s                # then one probe; each failed one doubles the time
    maxOpen: 8s
    probes: 1

param:                      # at most so many calls a second for each user
  - id: cart
    resource: cart
    param: header["X-Demo-Caller"]
    limit: %d
    burst: %d               # and so many at once after a pause

isolation:                  # stop calling the instances that fail more than the others
  - id: stock
    service: stock
    base: 1s                # doubles each time it comes back sick
    max: 8s
    jitter: 0.05
    probeEvery: 100ms       # three good probes let it in again
    slowStart: %s           # its share grows back within that time
    fallbackHold: 1s
`, r.searchLimit, r.reportLimit, r.payThreshold, r.cartLimit, r.cartBurst, r.slowStart)
}

// A ruleFile is the document that the gateway watches.
type ruleFile struct{ path string }

// replace puts a new document in the file's place by renaming it over the old one, as editors and deployment tools do.
func (f ruleFile) replace(document string) error {
	fresh, err := os.CreateTemp(filepath.Dir(f.path), ".rules-*")
	if err != nil {
		return fmt.Errorf("writing new rules: %w", err)
	}
	_, err = fresh.WriteString(document)
	if closing := fresh.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Chmod(fresh.Name(), 0o644)
	}
	if err == nil {
		err = os.Rename(fresh.Name(), f.path)
	}
	if err != nil {
		os.Remove(fresh.Name())
		return fmt.Errorf("writing new rules: %w", err)
	}
	return nil
}

// overwrite writes into the file as it stands, as a shell's > does.
func (f ruleFile) overwrite(document string) error {
	if err := os.WriteFile(f.path, []byte(document), 0o644); err != nil {
		return fmt.Errorf("writing new rules: %w", err)
	}
	return nil
}
