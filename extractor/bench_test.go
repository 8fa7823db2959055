package extractor_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/cordon-go/cordon/extractor"
)

// BenchmarkExtract is beside time.Since, the unit that times are stated in.
func BenchmarkExtract(b *testing.B) {
	base := time.Now()
	var last time.Duration
	b.Run("one-read", func(b *testing.B) {
		for range b.N {
			last += time.Since(base)
		}
	})
	call, _ := hotCases()
	for _, path := range []string{"arg[0].Customer.ID", "arg[0].Customer.Name", "arg[0].items[-1].sku", "arg[1].user.id", `header["X-Tenant"]`, "method", "body.user.id", "header.x-tenant + method"} {
		p, err := extractor.Compile(path, extractor.Options{})
		require.NoError(b, err)
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			var list extractor.List
			for range b.N {
				list.Reset()
				_ = p.Extract(call, &list)
			}
		})
	}
	_ = last
}

func BenchmarkHash(b *testing.B) {
	seed := extractor.SeedOf(1)
	var sum uint64
	for name, v := range map[string]extractor.Value{"integer": extractor.Int(102), "8": extractor.Text("user-102"), "36": extractor.Text("0b5e3c1a-6a1f-4f0e-9d3c-2f1f6f0a7b11")} {
		b.Run(name, func(b *testing.B) {
			for range b.N {
				sum += v.Hash(seed)
			}
		})
	}
	b.Run("redacted", func(b *testing.B) {
		for range b.N {
			sum += uint64(len(extractor.Int(102).Redacted(seed).String()))
		}
	})
	_ = sum
}
