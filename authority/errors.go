package authority

import "errors"

// ErrRefused says that an origin may not call.
var ErrRefused = errors.New("the origin may not call")
