package cordon

import "github.com/cordon-go/cordon/extractor"

// Values is what a call carries besides its arguments, given by code, for rules on `value.tenant`. The values may have any type that package extractor
// knows. It is not changed and not kept.
type Values map[string]any

// Lookup returns the value of a key, for extractor.Values; it has no other part.
func (v Values) Lookup(part extractor.Part, key string) (extractor.Value, bool) {
	x, ok := v[key]
	if !ok || part != extractor.Values {
		return extractor.Value{}, false
	}
	return extractor.Of(x)
}

// Body returns extractor.ErrNoBody: there is none.
func (v Values) Body(int) ([]byte, error) { return nil, extractor.ErrNoBody }

// Body is a JSON body as what a call carries, given by code, for rules on `body.user.id`. It is not changed and not kept.
type Body []byte

// Lookup finds nothing: there is only the body.
func (b Body) Lookup(extractor.Part, string) (extractor.Value, bool) { return extractor.Value{}, false }

// Body returns the body, or extractor.ErrTooLarge if it is longer than that.
func (b Body) Body(most int) ([]byte, error) {
	switch {
	case len(b) == 0:
		return nil, extractor.ErrNoBody
	case len(b) > most:
		return nil, extractor.ErrTooLarge
	}
	return b, nil
}
