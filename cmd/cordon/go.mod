module github.com/cordon-go/cordon/cmd/cordon

go 1.26.0

require (
	github.com/cordon-go/cordon v0.0.0
	github.com/spf13/cobra v1.10.2
)

replace github.com/cordon-go/cordon => ../..
