module github.com/cordon-go/cordon/adapter/grpc

go 1.26.0

require (
	github.com/cordon-go/cordon v0.0.0
	github.com/cordon-go/cordon/extractor/protobuf v0.0.0
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260817212433-ac3dfec99bb1
	google.golang.org/grpc v1.85.0
	google.golang.org/protobuf v1.36.12
	pgregory.net/rapid v1.3.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.60.0 // indirect
	golang.org/x/sys v0.48.0 // indirect
	golang.org/x/text v0.42.0 // indirect
	golang.org/x/time v0.16.0 // indirect
)

replace (
	github.com/cordon-go/cordon => ../..
	github.com/cordon-go/cordon/extractor/protobuf => ../../extractor/protobuf
)
