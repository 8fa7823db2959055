package main

// simExample is a scenario with a word on everything it can say.
const simExample = `# A scenario for cordon sim. Everything but cordon-sim, length, instances and clients may be left out.
cordon-sim: 1
service: orders                 # isolation rules are chosen by it, and it is the resource of the calls
length: 10m                     # of virtual time: a few tenths of a second
seed: 1                         # what is random comes out the same with the same seed
seeds: 3                        # runs with the seeds 1, 2 and 3

instances:
  - count: 4                    # i0 to i3: well all the time
    base: {failures: 0.001, latency: {median: 20ms, p99: 150ms}}
    capacity: 200               # calls per second: above, an instance collapses
  - name: sick
    base: {failures: 0.001, latency: {median: 20ms, p99: 150ms}}
    capacity: 200
    ill:                        # what happens to it besides; each of these makes it ill
      - {from: 1m, until: 3m, failures: 0.2, failFast: true}                 # a full disk
      - {from: 5m, until: 6m, flap: {bad: 5s, good: 15s}, down: true}        # comes and goes
      - {from: 8m, restart: {down: 5s, warmup: 20s, slow: 100ms}}            # slow at first
    # Others: {throttles: 0.3}, {latency: 2s}, {hangs: true} (for clients with a timeout), {noisy: {max: 0.3, every: 3s}}, {shocks: {every: 20s, longest: 2s}}

common:                         # what happens to all alike makes nobody ill: a dependency in poor health
  - {from: 4m, until: 5m, noisy: {max: 0.3, every: 3s}}

# regions:                      # what happens to all instances with that region
#   - {name: east, ill: [{from: 2m, until: 3m, down: true}]}

clients:
  - count: 2                    # each with its own view of the instances
    timeout: 1s
    retry: {max: 1, wait: 20ms, budget: 0.1}
    load:
      - rate: 60                # calls per second of each client, at random times
        changes: [{at: 7m, rate: 90}]

policies:                       # what is tried out, each in runs of its own
  - cordon                      # with the isolation rule below that is for the service
  - {kind: cordon, preset: careful}
  - none

rules:                          # or a file's path: rules.yaml
  isolation:
    - {id: quick, service: orders, preset: quick}    # with shadow: true it only says what it would do, and so do the table and the events
  flow:
    - {id: orders, resource: orders, mode: smooth, limit: 80, burst: 10}     # of each client
`
