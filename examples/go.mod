module github.com/cordon-go/cordon/examples

go 1.26.0

require github.com/cordon-go/cordon v0.0.0

replace github.com/cordon-go/cordon => ..
