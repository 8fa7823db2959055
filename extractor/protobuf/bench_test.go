package protobuf_test

import (
	"testing"
	"time"

	"github.com/cordon-go/cordon/extractor"
)

// BenchmarkPath is beside time.Since, the unit that times are stated in.
func BenchmarkPath(b *testing.B) {
	base := time.Now()
	var last time.Duration
	b.Run("one-read", func(b *testing.B) {
		for range b.N {
			last += time.Since(base)
		}
	})
	for kind, order := range orders(b, full) {
		for _, path := range []string{"customer.id", "customer.tier", "card", "extra.user.id"} {
			p := compile(b, "arg[0]."+path)
			call, list := &extractor.Call{Args: []any{order}}, &extractor.List{}
			b.Run(kind+"/"+path, func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					list.Reset()
					_ = p.Extract(call, list)
				}
			})
		}
	}
	_ = last
}
