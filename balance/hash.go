package balance

// HashOf returns what ConsistentHash goes by for a key, as a user's id; it is the same in all processes and versions: FNV-1a, with its bits mixed by MurmurHash3's finalizer, since keys that are alike
// differ in few of them.
func HashOf(key string) uint64 {
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
