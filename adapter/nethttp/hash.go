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
