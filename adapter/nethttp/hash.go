package nethttp

import "net/http"

// Cookie returns a function for PoolConfig.HashBy and WithOrigin that takes the value of a request's first cookie of that name.
func Cookie(name string) func(*http.Request) string {
	return func(r *http.Request) string {
		c, err := r.Cookie(name)
		if err != nil {
			return ""
		}
		return c.Value
	}
}

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
