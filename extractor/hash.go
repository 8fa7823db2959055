package extractor

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
)

// Seed keys hashes. Seeds are equal (==) if their hashes are. Its zero value is a seed that everybody knows.
type Seed struct{ k0, k1 uint64 }

// NewSeed returns a random seed.
func NewSeed() Seed {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return Seed{binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])}
}

// SeedOf returns a seed that is always the same for a number, for tests and simulations.
func SeedOf(n uint64) Seed { return Seed{mix(n), mix(n + 0x9e3779b97f4a7c15)} }

// mix is the finalizer of SplitMix64: a bijection that changes half of the bits for each one that its argument changes.
func mix(n uint64) uint64 {
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

// Hash returns a hash of the value, keyed by seed, that whoever does not know the seed cannot aim at: SipHash-1-3 of the text's bytes, or of the number.
func (v Value) Hash(seed Seed) uint64 {
	h := sip{seed.k0 ^ 0x736f6d6570736575, seed.k1 ^ 0x646f72616e646f6d, seed.k0 ^ 0x6c7967656e657261, seed.k1 ^ 0x7465646279746573}
	if v.number != 0 {
		h = h.block(uint64(v.number))
		return h.block(8<<56 | 1).sum() // no text of eight bytes ends so
	}
	s := v.text
	last := uint64(len(s)) << 56
	for ; len(s) >= 8; s = s[8:] {
		h = h.block(uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
			uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
	}
	for i := range len(s) {
		last |= uint64(s[i]) << (8 * i)
	}
	return h.block(last).sum()
}

// sip is the state of SipHash.
type sip struct{ v0, v1, v2, v3 uint64 }

// block takes in eight bytes.
func (h sip) block(m uint64) sip {
	h.v3 ^= m
	h = h.round()
	h.v0 ^= m
	return h
}

// sum ends the hash.
func (h sip) sum() uint64 {
	h.v2 ^= 0xff
	h = h.round().round().round()
	return h.v0 ^ h.v1 ^ h.v2 ^ h.v3
}

func (h sip) round() sip {
	h.v0 += h.v1
	h.v2 += h.v3
	h.v1 = bits.RotateLeft64(h.v1, 13) ^ h.v0
	h.v3 = bits.RotateLeft64(h.v3, 16) ^ h.v2
	h.v0 = bits.RotateLeft64(h.v0, 32) + h.v3
	h.v2 += h.v1
	h.v3 = bits.RotateLeft64(h.v3, 21) ^ h.v0
	h.v1 = bits.RotateLeft64(h.v1, 17) ^ h.v2
	h.v2 = bits.RotateLeft64(h.v2, 32)
	return h
}

// Redacted returns a Value that stands for v and does not tell it: "hmac:" and 32 hexadecimal digits of HMAC-SHA-256 under the seed. The same value gives the same one for
// the same seed.
func (v Value) Redacted(seed Seed) Value {
	const block = sha256.BlockSize
	var key [block]byte
	binary.LittleEndian.PutUint64(key[:], seed.k0)
	binary.LittleEndian.PutUint64(key[8:], seed.k1)
	var inner [block + MaxText]byte
	var outer [block + sha256.Size]byte
	for i, k := range key {
		inner[i], outer[i] = k^0x36, k^0x5c
	}
	sum := sha256.Sum256(v.Append(inner[:block]))
	copy(outer[block:], sum[:])
	sum = sha256.Sum256(outer[:])
	const prefix, half = "hmac:", sha256.Size / 2
	var text [len(prefix) + 2*half]byte
	hex.Encode(text[copy(text[:], prefix):], sum[:half])
	return Value{text: string(text[:])}
}
