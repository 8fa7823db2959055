package extractor

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The numbers are those of the reference implementation, and of CPython's hash of bytes, which is SipHash-1-3 under the zero key.
func TestHashIsSipHash13(t *testing.T) {
	for text, want := range map[string]uint64{"a": 0x407448d2b89b1813, "user-1": 0x06db9d14f8ce93a0, "user-0123456789ab": 0x3db779bc74f51b30} {
		require.Equal(t, want, Value{text: text}.Hash(Seed{}), text)
	}
	counting := Seed{0x0706050403020100, 0x0f0e0d0c0b0a0908}
	require.Equal(t, uint64(0xabac0158050fc4dc), Value{}.Hash(counting))
}

func TestRedactedIsHMAC(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seed := SeedOf(rapid.Uint64().Draw(t, "seed"))
		v := Text(rapid.String().Draw(t, "text"))
		h := hmac.New(sha256.New, binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, seed.k0), seed.k1))
		h.Write([]byte(v.String()))
		if want := "hmac:" + hex.EncodeToString(h.Sum(nil)[:16]); v.Redacted(seed).String() != want {
			t.Fatalf("%q is %s, want %s", v, v.Redacted(seed), want)
		}
	})
}
