package bench

import "fmt"

// MixedDocument returns a native document in JSON of n rules of four kinds, about 200 bytes each. Documents of different editions differ in all rules.
func MixedDocument(n, edition int) []byte {
	kinds := []struct{ kind, rest string }{
		{"flow", `"mode": "smooth", "limit": %d, "per": "1s", "burst": 200, "origin": "", "also": false, "shared": false, "shadow": false`},
		{"concurrency", `"limit": %d, "queue": 100, "maxWait": "50ms", "shadow": false, "also": false`},
		{"breaker", `"trip": "errorRatio", "threshold": 0.5, "window": "10s", "minCalls": %d, "open": "5s", "probes": 3, "successes": 2, "shadow": false`},
		{"param", `"param": "arg[0].Customer.ID", "limit": %d, "per": "1s", "burst": 200, "values": 1000, "overrides": [{"value": "vip", "limit": 5000}]`},
	}
	b := []byte("{\"cordon\": 1")
	for k, of := range kinds {
		b = fmt.Appendf(b, ",\n%q: [", of.kind)
		for i := k; i < n; i += len(kinds) {
			if i > k {
				b = append(b, ',')
			}
			b = fmt.Appendf(b, "\n  {\"id\": \"%s-%05d\", \"resource\": %q, "+of.rest+"}", of.kind, i, LongName(i), 100+(i+edition)%900)
		}
		b = append(b, "\n]"...)
	}
	return append(b, "}\n"...)
}
