package cordongrpc

import "math/rand/v2"

// hashOf is the same in all processes: FNV-1a, with its bits mixed by MurmurHash3's finalizer, since keys that are alike differ in few of them.
func hashOf(key string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(key) {
		h ^= uint64(key[i])
		h *= 1099511628211
	}
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// chance returns what a call without a key is hashed to.
func chance() uint64 { return rand.Uint64() }
